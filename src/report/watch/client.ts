/**
 * The script of the live page: it puts the parts that the server sends into the page, and says when the connection is
 * lost. The browser connects again by itself. It is inserted into the page as it is, and allowed by its hash.
 */
export const CLIENT = `
(() => {
  const link = document.getElementById('link');
  const say = (text) => {
    link.textContent = text;
    document.body.classList.toggle('stale', text !== '');
  };
  const said = document.getElementById('said');
  let headline = '';
  // Only what is new is read out: most details change every second.
  const announce = () => {
    const now = document.querySelector('h1').textContent;
    if (now !== headline && headline !== '') said.textContent = now;
    headline = now;
  };
  let lastMs = Date.now();
  let ended = false;
  const events = new EventSource('events');
  events.addEventListener('parts', (event) => {
    lastMs = Date.now();
    say('');
    for (const [id, markup] of Object.entries(JSON.parse(event.data))) {
      const part = document.getElementById(id);
      if (part !== null) part.innerHTML = markup;
    }
    document.title = document.getElementById('name').textContent;
    announce();
  });
  events.addEventListener('end', () => {
    ended = true;
    events.close();
    say('The process that served this page has ended. What you see is its last state.');
  });
  const look = () => {
    const seconds = Math.round((Date.now() - lastMs) / 1000);
    if (!ended && seconds >= 5) say('No answer for ' + seconds + ' s. Trying again.');
    setTimeout(look, 1000);
  };
  look();
})();
`;
