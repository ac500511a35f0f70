// Words of a text, coloured by what they did for a label.

const FAINT = 0.05; // of the strongest word: less is not worth a colour

/** Pieces of the text: strings, and marks where words spoke. Places count characters as the server does. */
export function marksFor(text, words) {
  const strongest = Math.max(0, ...words.map(([, , push]) => Math.abs(push)));
  const at = places(text);
  const pieces = [];
  let end = 0;
  for (const [from, to, push] of words) {
    const strength = strongest ? Math.abs(push) / strongest : 0;
    const begin = at(from);
    if (strength < FAINT || begin < end) continue;
    pieces.push(text.slice(end, begin));
    const mark = document.createElement("mark");
    mark.textContent = text.slice(begin, (end = at(to)));
    mark.style.setProperty("--strength", String(0.12 + 0.5 * strength));
    if (push < 0) mark.className = "down";
    pieces.push(mark);
  }
  pieces.push(text.slice(end) + "\n"); // a last line that is empty has a height, as in the text area
  return pieces;
}

/** Characters beyond the first 65,536 of Unicode take two places in a JavaScript string, and one on the server. */
function places(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (place) => place;
  const starts = [];
  for (let i = 0; i < text.length; i += text.codePointAt(i) > 0xffff ? 2 : 1) starts.push(i);
  starts.push(text.length);
  return (place) => starts[Math.min(place, starts.length - 1)];
}
