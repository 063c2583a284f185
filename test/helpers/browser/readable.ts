/** Expressions that find, in a page in a browser, what a person could not read. Each returns a list of texts. */
import axe from 'axe-core';
import type { Page } from './browser.ts';

/** The checker, as the script that it is; a policy of the page does not apply to what DevTools run. */
const AXE = axe.source;

/** Every visible text with too little contrast to the ground it stands on, or with letters that are too small. */
export const HARD_TO_READ = `(() => {
  const channels = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number);
  const luminance = ([r, g, b]) => {
    const [R, G, B] = [r, g, b].map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * R + 0.7152 * G + 0.0722 * B;
  };
  const ground = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const wrong = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() === '' || !element.checkVisibility()) continue;
    if (['title', 'desc', 'style'].includes(element.localName)) continue;
    const style = getComputedStyle(element);
    const inPicture = element.closest('svg') !== null;
    const [light, dark] = [luminance(channels(inPicture ? style.fill : style.color)), luminance(ground(element))].sort((a, b) => b - a);
    const contrast = (light + 0.05) / (dark + 0.05);
    const scale = inPicture ? element.getCTM().a : 1;
    const pixels = parseFloat(style.fontSize) * scale;
    if (contrast < 4.5 || pixels < 9) wrong.push([walker.currentNode.data.slice(0, 40), contrast.toFixed(2), pixels.toFixed(1)].join(' | '));
  }
  return wrong;
})()`;

/** Texts of pictures that run over each other or out of their picture. */
export const OVERLAPPING = `[...document.querySelectorAll('svg.picture')].filter((svg) => svg.checkVisibility()).flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map((text) => ({ text: text.lastChild.data, box: text.getBoundingClientRect() }));
  const out = texts.filter(({ box }) => box.left < frame.left - 1 || box.right > frame.right + 12);
  const over = texts.flatMap((one, index) => texts.slice(index + 1).filter(({ box }) =>
    Math.min(box.right, one.box.right) - Math.max(box.left, one.box.left) > 1 &&
    Math.min(box.bottom, one.box.bottom) - Math.max(box.top, one.box.top) > 4).map((other) => one.text + ' / ' + other.text));
  return [...out.map(({ text }) => text + ' runs out of its picture'), ...over];
})`;

/** Returns what axe-core, the checker of accessibility, finds serious in a page: its rules, with the elements. */
export async function seriousFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(`${AXE}; undefined`);
  return page.evaluate(`axe.run().then(({ violations, passes }) => passes.length < 5 ? ['axe-core has checked nothing'] : violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))`);
}
