// Kernels of one name are told apart by the template arguments in which they differ.

/** "a, b<c, d>, (e, f)" -> ["a", "b<c, d>", "(e, f)"]. */
export function topLevel(list: string): string[] {
  const out: string[] = [];
  let depth = 0, from = 0;
  for (let i = 0; i <= list.length; ++i) {
    const c = list[i];
    if (c === '<' || c === '(' || c === '{' || c === '[') ++depth;
    else if ((c === '>' && list[i - 1] !== '-') || c === ')' || c === '}' || c === ']') --depth;
    if (c !== undefined && (c !== ',' || depth > 0)) continue;
    const part = list.slice(from, i).trim();
    if (part !== '') out.push(part);
    from = i + 1;
  }
  return out;
}

/** Of a long argument that which is its own name: without scopes, 40 characters at most. */
const brief = (argument: string): string => {
  const text = argument.replace(/\b(?:\w+|\(anonymous namespace\))::/g, '').replace(/\(lambda.*$|\{lambda.*$/, 'lambda');
  return text.length > 40 ? `${text.slice(0, 26)}…${text.slice(-13)}` : text;
};

/** The names, with `<arguments>` where several kernels have one: only the arguments that are not the same in all. */
export function toldApart(names: string[], args: string[]): string[] {
  const groups = new Map<string, number[]>();
  names.forEach((n, r) => {
    if (n === '') return;
    const list = groups.get(n);
    if (list) list.push(r);
    else groups.set(n, [r]);
  });
  const out = names.slice();
  for (const [name, rows] of groups) {
    if (rows.length < 2) continue;
    const lists = rows.map((r) => topLevel(args[r] ?? ''));
    const width = Math.max(...lists.map((l) => l.length));
    const telling = Array.from({ length: width }, (_, i) => i).filter((i) => new Set(lists.map((l) => l[i] ?? '')).size > 1);
    rows.forEach((r, k) => {
      const said = telling.map((i) => lists[k]![i]).filter((a): a is string => a !== undefined && a !== '').slice(0, 3).map(brief);
      if (said.length > 0) out[r] = `${name}<${said.join(', ')}>`;
    });
  }
  return out;
}
