try{const t=localStorage.getItem("xlatrace-theme");if(t==="light"||t==="dark")document.documentElement.dataset.theme=t}catch(e){}
