/* xlatrace page 1.0 placeholder */
addEventListener("DOMContentLoaded", () => {
  document.getElementById("xlatrace-app").dataset.placeholder = "1";
});
