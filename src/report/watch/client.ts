/**
 * The script of the live page: it puts the parts that the server sends into the page, and says when the connection is
 * lost. It connects again by itself. It is inserted into the page as it is, and allowed by its hash.
 */
export const CLIENT = `
(() => {
  const link = document.getElementById('link');
  const said = document.getElementById('said');
  const say = (text) => {
    if (link.textContent !== text) link.textContent = text;
    document.body.classList.toggle('stale', text !== '');
  };
  let headline = '';
  // Only what is new is read out: most details change every second.
  const announce = () => {
    const [title, detail] = ['h1', '.headline p'].map((part) => document.querySelector(part).textContent);
    const isAlarm = document.querySelector('.headline.alarm') !== null;
    const now = title + isAlarm;
    if (now !== headline && headline !== '') said.textContent = isAlarm ? title + '. ' + detail : title;
    headline = now;
    document.title = title + ' \\u00b7 ' + document.getElementById('name').textContent;
  };
  // A part with selected text stays for a while, so that the text can be copied.
  const waiting = new Map();
  let selectedMs = 0;
  document.addEventListener('selectionchange', () => (selectedMs = Date.now()));
  const isSelected = (part) => {
    const selection = document.getSelection();
    return !selection.isCollapsed && selection.containsNode(part, true) && Date.now() - selectedMs < 20000;
  };
  const put = () => {
    for (const [id, markup] of waiting) {
      const part = document.getElementById(id);
      if (part !== null && isSelected(part)) continue;
      if (part !== null) part.innerHTML = markup;
      waiting.delete(id);
    }
    announce();
  };
  let lastMs = Date.now();
  let ended = false;
  let isRefused = false;
  const connect = () => {
    const events = new EventSource('events');
    events.addEventListener('parts', (event) => {
      lastMs = Date.now();
      isRefused = false;
      say('');
      for (const [id, markup] of Object.entries(JSON.parse(event.data))) waiting.set(id, markup);
      put();
    });
    events.addEventListener('end', () => {
      ended = true;
      events.close();
      say('The process that served this page has ended. What you see is its last state.');
    });
    // The browser tries again by itself, but not after an answer that is not a stream of events.
    events.addEventListener('error', () => {
      if (ended || events.readyState !== EventSource.CLOSED) return;
      isRefused = true;
      setTimeout(connect, 2000);
    });
  };
  connect();
  const look = () => {
    const seconds = Math.round((Date.now() - lastMs) / 1000);
    const how = isRefused ? ' If cosmig was started again, open the address that it has printed.' : '';
    if (!ended && seconds >= 5) say('No answer for ' + seconds + ' s. Trying again.' + how);
    setTimeout(look, 1000);
  };
  look();
})();
`;
