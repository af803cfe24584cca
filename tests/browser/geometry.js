// Each line of writing as a rectangle. Lines that scroll together are compared wherever they are, others
// where they are seen: cut to what their scrolling ancestors show. Left out: what is hidden, what floats over the page on purpose (tips, menus), and cells of tables, which are pictures.
() => {
  const floats = '.icaps-tip, [role="tooltip"], [data-testid="stToast"], [data-testid="stPopoverBody"],'
    + '[data-testid="stDialog"], [data-testid="stHeader"], [data-testid="stStatusWidget"],'
    + '[data-testid="stElementToolbar"], canvas, .hoverlayer, .modebar, style, script, noscript, option';
  const name = (e) => (e.textContent || "").trim().replace(/\s+/g, " ").slice(0, 60);
  const lines = [], cut = [];
  const roots = document.querySelectorAll('[data-testid="stMain"], [data-testid="stSidebar"]');
  for (const root of roots) {
    if (!root.checkVisibility() || root.getBoundingClientRect().right <= 0) continue;
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode, e = node.parentElement;
      if (!node.textContent.trim() || e.closest(floats)) continue;
      if (!e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      if (e.closest('[data-testid="stIconMaterial"]')) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      // Lines of pictures lie without the blank above and below letters, which may be cut off.
      const size = parseFloat(getComputedStyle(e).fontSize);
      for (const r of range.getClientRects()) {
        const blank = e instanceof SVGElement ? Math.max(Math.min(r.width, r.height) - size, 0) : 0;
        const seen = { left: r.left, top: r.top, right: r.right, bottom: r.bottom };
        let hidden = r.width < 2 || r.height < 2, shortened = false;
        let scroller = null, whole = seen; // the line within what scrolls
        for (let a = e; a && a !== root.parentElement; a = a.parentElement) {
          const style = getComputedStyle(a);
          if (a instanceof SVGElement && a.tagName !== "svg") continue;
          const box = a.getBoundingClientRect();
          if (!scroller && (a === root || /auto|scroll/.test(style.overflowX + style.overflowY))) {
            scroller = a;
            whole = { ...seen };
          }
          if (style.overflowX !== "visible" || a.tagName === "svg") {
            const scrolls = /auto|scroll/.test(style.overflowX);
            if (!scrolls && (box.left > seen.left + 2 + blank || box.right < seen.right - 2 - blank)) shortened = true;
            seen.left = Math.max(seen.left, box.left); seen.right = Math.min(seen.right, box.right);
          }
          if (style.overflowY !== "visible" || a.tagName === "svg") {
            const scrolls = /auto|scroll/.test(style.overflowY);
            if (!scrolls && (box.top > seen.top + 3 + blank || box.bottom < seen.bottom - 3 - blank)) shortened = true;
            seen.top = Math.max(seen.top, box.top); seen.bottom = Math.min(seen.bottom, box.bottom);
          }
          if (style.clip !== "auto" || style.clipPath !== "none") hidden = hidden || box.width <= 1;
        }
        if (hidden) continue;
        const gone = whole.right - whole.left < 1 || whole.bottom - whole.top < 1;
        if (shortened && !e.closest('[data-cut]')) cut.push(name(e));
        if (!gone) lines.push({ e, scroller, whole, seen });
      }
    }
  }
  const overlaps = [];
  for (let i = 0; i < lines.length; i++) {
    for (let j = i + 1; j < lines.length; j++) {
      if (lines[i].e === lines[j].e) continue;
      const part = lines[i].scroller === lines[j].scroller ? "whole" : "seen";
      const a = lines[i][part], b = lines[j][part];
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const least = 0.3 * Math.min(a.bottom - a.top, b.bottom - b.top);
      if (width > 2 && height > least) overlaps.push([name(lines[i].e), name(lines[j].e)]);
    }
  }
  const wide = [...document.querySelectorAll('html, [data-testid="stMain"]')]
    .filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.tagName);
  const burst = [...document.querySelectorAll('[data-testid="stMain"] *')].filter((e) => {
    const style = getComputedStyle(e);
    return e.clientHeight && style.maxHeight !== "none" && style.overflowY === "visible"
      && e.scrollHeight > e.clientHeight + 4 && e.checkVisibility()
      && !e.closest('[data-testid="stDataFrame"]');
  }).map((e) => e.className.toString().slice(0, 60));
  return { overlaps: overlaps.slice(0, 8), cut: [...new Set(cut)].slice(0, 8), wide, burst };
}
