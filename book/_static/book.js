// What scrolls sideways can be reached by the keyboard; what does not is no stop for the Tab key.
"use strict";
(() => {
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  document.querySelectorAll(".formula, .table-wrapper, .highlight pre, .output pre").forEach((n) => watch.observe(n));
})();
