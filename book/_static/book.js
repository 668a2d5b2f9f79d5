// What every page does, players aside.
"use strict";
(() => {
  // The sidebar shows where this page stands.
  const showPlace = () => {
    const list = document.querySelector(".sidebar-scroll"), current = list?.querySelector("a.current");
    if (!current) return;
    const below = current.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientHeight / 3;
    list.scrollBy({ top: below, behavior: "instant" }); // the theme would glide
  };
  addEventListener("DOMContentLoaded", showPlace);

  // A page shows itself in its own faces: a face that comes late breaks lines anew and moves what is below.
  const page = document.documentElement, faces = ["1em 'Source Serif 4 Variable'", "italic 1em 'Source Serif 4 Variable'",
    "1em 'Source Sans 3 Variable'", "1em 'Source Code Pro Variable'", "1em KaTeX_Main", "italic 1em KaTeX_Math",
    "1em KaTeX_AMS", "1em KaTeX_Size1", "1em KaTeX_Size2"];
  const loaded = Promise.all(faces.map((face) => document.fonts.load(face, "aα")));
  const enough = new Promise((done) => setTimeout(done, 1500));
  page.classList.add("loading");
  loaded.finally(showPlace); // its lines may be broken in other places now
  Promise.race([loaded, enough]).finally(() => {
    fitFormulas(document);  // now that they have their width
    page.classList.remove("loading");
  });

  // A formula that is wider than a narrow screen becomes smaller, down to what can be read; then it scrolls.
  function fitFormulas(root) {
    for (const node of root.querySelectorAll(".formula")) {
      let size = 1;
      node.style.fontSize = "";
      for (let k = 0; k < 3 && innerWidth < 736 && size > 0.62 && node.scrollWidth > node.clientWidth + 1; k++) {
        size = Math.max(0.62, 0.99 * size * node.clientWidth / node.scrollWidth);
        node.style.fontSize = `${size}em`;
      }
    }
  }
  addEventListener("DOMContentLoaded", () => fitFormulas(document));
  addEventListener("resize", () => fitFormulas(document));
  addEventListener("toggle", (event) => fitFormulas(event.target), true);  // a fold was opened
})();

addEventListener("DOMContentLoaded", () => {
  // What scrolls sideways can be reached by the keyboard; what does not is no stop for the Tab key.
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  document.querySelectorAll(".formula, .table-wrapper, .highlight pre, .output pre").forEach((n) => watch.observe(n));

  // An equation and the lines of code that cite it light up together, under the mouse or in focus.
  for (const link of document.querySelectorAll(".citing .cites")) {
    const line = link.closest(".citing"), anchor = link.pathname === location.pathname && link.hash.slice(1);
    const equation = anchor && document.getElementById(anchor);
    if (!equation) continue;
    for (const [name, on] of [["mouseenter", true], ["focusin", true], ["mouseleave", false], ["focusout", false]]) {
      for (const [from, to] of [[line, equation], [equation, line]]) {
        from.addEventListener(name, () => to.classList.toggle("lit", on));
      }
    }
  }
});
