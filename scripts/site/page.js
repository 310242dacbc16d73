// Runs on each page of the site: search, the switch between light and dark, and buttons that copy code.

const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_$]+/gu) ?? [];
const joined = (...texts) => ` ${texts.flatMap(wordsOf).join(" ")} `;
const maxCounted = 5;

/** Returns the best entries with all words, or words that begin with them. */
globalThis.searchPages = (entries, wanted) => {
  const words = wordsOf(wanted);
  const weigh = ([, title, heading, text, isAside]) => {
    const [names, body] = [joined(title, heading), joined(text)];
    const phrase = ` ${words.join(" ")}`;
    let weight = (names.includes(phrase) ? 20 : 0) + (body.includes(phrase) ? 5 : 0);
    for (const word of words) {
      const count = Math.min(body.split(` ${word}`).length - 1, maxCounted);
      const found = count + (names.includes(` ${word}`) ? 8 : 0);
      if (found === 0) return 0;
      weight += found;
    }
    return isAside ? weight / 4 : weight;
  };
  if (words.length === 0) return [];
  return entries
    .map((entry) => [weigh(entry), entry])
    .filter(([weight]) => weight > 0)
    .sort(([one], [other]) => other - one)
    .slice(0, 12)
    .map(([, entry]) => entry);
};

function startTheme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const current = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
  const stored = readStored();
  if (stored) root.dataset.theme = stored;
  addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector(".theme");
    const show = () => {
      button.textContent = current() === "dark" ? "Light" : "Dark";
    };
    button.hidden = false;
    show();
    dark.addEventListener("change", show);
    button.addEventListener("click", () => {
      root.dataset.theme = current() === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("theme", root.dataset.theme);
      } catch {
        // Storage is off: the choice is that of this page.
      }
      show();
    });
  });
}

function readStored() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

function startSearch(root) {
  const form = document.querySelector("search");
  const [input, panel] = [form.querySelector("input"), form.querySelector(".found")];
  const [status, list] = [panel.querySelector("[role=status]"), panel.querySelector("ul")];
  form.hidden = false;
  let loading;
  const load = () => {
    loading ??= new Promise((loaded, failed) => {
      const script = document.createElement("script");
      Object.assign(script, { src: `${root}search-index.js`, onload: loaded, onerror: failed });
      document.head.append(script);
    });
    return loading;
  };
  const show = async () => {
    await load();
    const found = searchPages(searchIndex, input.value);
    list.replaceChildren(...found.map((entry) => itemOf(root, entry, input.value)));
    status.textContent = found.length === 0 ? "Nothing found." : `${found.length} results`;
    panel.hidden = input.value.trim() === "";
  };
  input.addEventListener("focus", load);
  input.addEventListener("input", show);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await show();
    list.querySelector("a")?.click();
  });
  form.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !form.contains(relatedTarget)) panel.hidden = true;
  });
  addEventListener("click", ({ target }) => {
    if (!form.contains(target)) panel.hidden = true;
  });
  addEventListener("keydown", (event) => {
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key === "/" && !isTyping) {
      event.preventDefault();
      input.focus();
    }
    if (!form.contains(event.target)) return;
    const stops = [input, ...list.querySelectorAll("a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      stops[stops.indexOf(document.activeElement) + step]?.focus();
    } else if (event.key === "Escape") {
      panel.hidden = true;
      input.focus();
    }
  });
}

/** A link to a heading, and the text around the first word. */
function itemOf(root, [address, title, heading, text], wanted) {
  const [word = ""] = wordsOf(wanted);
  const start = Math.max(0, text.toLowerCase().indexOf(word) - 40);
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = root + address;
  const name = document.createElement("strong");
  name.textContent = heading === "" ? title : `${title}: ${heading}`;
  const around = document.createElement("span");
  around.textContent = (start > 0 ? "…" : "") + text.slice(start, start + 140);
  link.append(name, around);
  item.append(link);
  return item;
}

/** Code and tables that are wider than the page can be scrolled with the keyboard. */
function startBlocks() {
  for (const block of document.querySelectorAll("pre, .scroll"))
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
  if (!navigator.clipboard) return;
  for (const code of document.querySelectorAll("pre")) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    });
    const frame = document.createElement("div");
    frame.className = "code";
    code.replaceWith(frame);
    frame.append(code, button);
  }
}

if (typeof document !== "undefined") {
  const { root } = document.currentScript.dataset;
  startTheme();
  addEventListener("DOMContentLoaded", () => {
    startSearch(root);
    startBlocks();
  });
}
