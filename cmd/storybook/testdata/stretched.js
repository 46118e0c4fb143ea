// Looks at every page in a frame of each width. pages, widths and lang are given before this file.
const found = []

// what assistive technology alone reads has no place on the screen
const hidden = '.pf-v6-screen-reader, .gp-skip, [hidden], [popover], dialog:not([open]), option, script, style, title'

// texts of the catalog, never data: what a field, a column, a choice or a group of them is called
const named = 'label > .pf-v6-c-form__label-text, th[scope=col], caption, legend, .gp-menu__words, .gp-nav__label, ' +
  '.gp-tile__label, .pf-v6-c-empty-state__title-text'

// the documents are written in English, and are not put together from texts
const manual = '.gp-manual'

// remembered asks of each element once: many texts stand in the same parents
const remembered = (ask) => {
  const known = new Map()
  return (e) => {
    if (!known.has(e)) known.set(e, ask(e))
    return known.get(e)
  }
}

// what is clipped to a point is there for assistive technology alone
const clip = (win, body) => {
  const clipped = remembered((e) => {
    if (!e || e === body) return false
    const style = win.getComputedStyle(e)
    return style.clip !== 'auto' || style.clipPath !== 'none' || clipped(e.parentElement)
  })
  return clipped
}

// own is the text of an element itself, without that of its children.
const own = (e) => [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.textContent).join('').trim()

function cut(win, e) {
  const style = win.getComputedStyle(e)
  const [w, h] = [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]
  if (e.clientWidth && w > 1 && /hidden|clip/.test(style.overflowX)) return `${w} px are cut at the side`
  if (e.clientHeight && h > 2 && /hidden|clip/.test(style.overflowY)) return `${h} px are cut at the bottom`
  return ''
}

const path = (e) => [e.parentElement, e].map((x) => x.tagName.toLowerCase() + (typeof x.className === 'string' && x.className ? '.' + x.className.trim().split(/\s+/).join('.') : '')).join(' > ')

function inspect(win, story, width) {
  const doc = win.document
  const say = (what) => found.push({ Story: story, Width: width, What: what })
  const over = doc.documentElement.scrollWidth - doc.documentElement.clientWidth
  if (over > 0) {
    const wide = [...doc.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > width + 1 && !e.closest(hidden)).slice(0, 3)
    say(`${over} px wider than the window: ${wide.map(path).join('; ')}`)
  }
  for (const list of doc.querySelectorAll('.gp-tabs > .pf-v6-c-tabs__list')) {
    const current = list.querySelector('.pf-m-current')?.getBoundingClientRect(), place = list.getBoundingClientRect()
    if (current && place.width > current.width && (current.left < place.left - 1 || current.right > place.right + 1)) say(`the current tab is out of sight: ${path(list)}`)
  }
  const told = new Set()
  const [clipped, cuts] = [clip(win, doc.body), remembered((e) => cut(win, e))]
  for (const e of doc.querySelectorAll('body *')) {
    const text = own(e)
    if (!text || e.closest(hidden) || clipped(e)) continue
    if (!e.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue
    if (/[\u27e6\u27e7]/.test(e.textContent)) { // data may be shortened where its whole is a click away; our words may not
      for (let at = e; at && at !== doc.body; at = at.parentElement) {
        const how = cuts(at)
        if (how && !told.has(at)) say(`${how}: “${text.slice(0, 60)}” in ${path(at)}`)
        if (how) { told.add(at); break }
      }
    }
    if (e.matches(named) && !e.closest(manual) && /\p{L}{2}/u.test(text) && !/\u27e6/.test(e.textContent)) say(`not of the catalog: “${text.slice(0, 60)}” in ${path(e)}`)
  }
}

// shown loads a story once and looks at it in each width, the widest first: a window that is made narrower. What a page
// that is opened in a narrow one does is seen by the stories at 390 px.
async function shown(story) {
  const frame = document.createElement('iframe')
  // below the window: laid out, not drawn
  Object.assign(frame.style, { width: `${widths[0]}px`, height: '900px', border: 0, position: 'fixed', top: '100vh' })
  const loaded = new Promise((done) => frame.addEventListener('load', done, { once: true }))
  frame.src = `/story/${story}?lang=${lang}`
  document.body.replaceChildren(frame)
  await loaded
  await frame.contentDocument.fonts.ready
  for (const width of widths) {
    frame.style.width = `${width}px`
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))) // scripts have seen it
    inspect(frame.contentWindow, story, width)
  }
}

(async () => {
  for (const story of pages) {
    try { await shown(story) } catch (fault) { found.push({ Story: story, Width: 0, What: String(fault) }) }
  }
  await fetch('/found', { method: 'POST', body: JSON.stringify(found) })
})()
