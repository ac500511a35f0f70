// Elements from plain values. Text is always text: nothing that a server or a person sends is ever read as HTML.

/** An element: h("p", {class: "quiet", onclick: f}, "text", child, …). null children are left out. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  return fill(element, attributes, children);
}

const SVG = "http://www.w3.org/2000/svg";

/** The same for drawings. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key.startsWith("--")) element.style.setProperty(key, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Put these in the place of everything that an element holds. */
export function put(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Say something to everybody, readers of screens included. */
let silence;
export function say(text) {
  const said = document.getElementById("said");
  said.textContent = text;
  said.classList.add("shown");
  clearTimeout(silence);
  silence = setTimeout(() => said.classList.remove("shown"), 3000);
}

export const count = (n) => Number(n).toLocaleString("en");
export const percent = (p) => (p >= 0.995 ? "99+" : p < 0.01 ? "<1" : Math.round(100 * p)) + " %";

/** Characters that are no letters of a line, but turn it around or hide in it, are shown as marks. */
export function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\u00b7");
}

/** A name that may be broken after its dots, slashes and the like, before it is broken anywhere. */
export const breakable = (name) => name.split(/(?<=[._/:-])(?=\w)/).flatMap((part, i) => (i ? [h("wbr"), part] : [part]));

/** Call a function when nothing has come for a while. */
export function later(milliseconds, call) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), milliseconds);
  };
}
