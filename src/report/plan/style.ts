/** The style of the page: one column of calm typography, pictures in a grid, tables that become cards on a phone. */
import { PICTURE_STYLE, THEME_STYLE } from '../svg/theme.ts';

const TEXT = `
:root{--mono:ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;
--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 var(--sans);font-variant-numeric:tabular-nums}
.page{max-width:1120px;margin:0 auto;padding:48px 32px 64px}
h1,h2,h3,h4,p,ul,dl,dd,figure{margin:0}
ul{padding:0;list-style:none}
h1{font-size:1.75rem;line-height:1.2;font-weight:650;letter-spacing:-.015em;text-wrap:balance}
h2{font-size:1.3rem;line-height:1.3;font-weight:650;letter-spacing:-.01em;margin-bottom:8px}
h3{font-size:1rem;font-weight:600}
h4{font-size:.8rem;font-weight:650;letter-spacing:.02em;margin-top:14px}
section{margin-top:56px}
small{display:block;font-size:.78rem;line-height:1.4;color:var(--muted)}
bdi,code{overflow-wrap:anywhere}
.key,code{font-family:var(--mono);font-size:.9em}
.short{white-space:nowrap}
li,p,figcaption,dd{text-wrap:pretty}
.over{font-size:.78rem;font-weight:650;letter-spacing:.08em;text-transform:uppercase;color:var(--muted);margin-bottom:8px}
.muted,.lead,figcaption,footer{color:var(--muted)}
.lead{max-width:72ch;margin-bottom:24px}
.alarm{color:var(--alarm)}.caution{color:var(--caution)}.good{color:var(--good)}
.warn{border-left:3px solid var(--caution);padding:4px 0 4px 14px;margin:12px 0 20px;max-width:72ch}
.hidden,.skip:not(:focus){position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.skip:focus{position:fixed;top:8px;left:8px;background:var(--card);color:var(--ink);padding:8px 14px;border:2px solid var(--ink);border-radius:6px}
:focus-visible{outline:2px solid var(--tone1);outline-offset:2px}
footer{margin-top:64px;padding-top:16px;border-top:1px solid var(--hairline);font-size:.82rem;overflow-wrap:anywhere}
`;

const OPENING = `
.facts{display:flex;flex-wrap:wrap;gap:14px 40px;margin-top:22px}
dt{font-size:.78rem;color:var(--muted)}
.facts dd{font-weight:550}
nav ul{display:flex;flex-wrap:wrap;gap:4px 20px;margin-top:26px;padding-top:12px;border-top:1px solid var(--hairline);font-size:.84rem}
nav a{color:var(--muted);text-decoration:none}
nav a:hover,nav a:focus-visible{color:var(--ink);text-decoration:underline}
.top .name{overflow-wrap:anywhere}
.advice{margin-top:28px;padding:28px 32px 30px;background:var(--card);border:1px solid var(--hairline);border-left:4px solid var(--good);border-radius:10px}
.advice.none{border-left-color:var(--alarm)}.advice.keep{border-left-color:var(--tone0)}
.verdict{font-size:1.5rem;line-height:1.3;font-weight:600;letter-spacing:-.01em;text-wrap:pretty}
.verdict .key{font-size:.88em;font-weight:600}
.reasons{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:22px 48px;margin-top:20px}
.reasons h3{font-size:.9rem;margin-bottom:6px}
.reasons li,.prose li{position:relative;padding-left:16px;margin-top:6px;overflow-wrap:anywhere}
.reasons li::before,.prose li::before{content:"";position:absolute;left:1px;top:.68em;width:5px;height:5px;border-radius:50%;background:var(--muted)}
.prose li{max-width:76ch}
`;

const CANDIDATES = `
.heading{display:flex;align-items:flex-start;gap:9px;min-width:0}
.heading .key{font-size:.92rem;font-weight:600;line-height:1.5;padding-top:1px;min-width:0}
.chip{display:inline-block;flex:none;min-width:24px;height:24px;padding:0 7px;border-radius:12px;background:var(--tone);color:var(--card);font:650 .78rem/24px var(--sans);text-align:center}
figure .heading .key,table .heading .key{display:-webkit-box;-webkit-line-clamp:3;-webkit-box-orient:vertical;overflow:hidden}
.tag{display:inline-block;margin-top:8px;padding:1px 9px;border:1px solid currentcolor;border-radius:10px;font-size:.74rem;font-weight:600;color:var(--muted)}
.chosen .tag{color:var(--good)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,235px),1fr));gap:18px;margin-top:28px}
.cards:has(>:only-child){max-width:420px}
.card{background:var(--card);border:1px solid var(--hairline);border-top:3px solid var(--tone);border-radius:10px;padding:18px 20px 20px;min-width:0}
.card .muted{font-size:.86rem;margin-top:8px;overflow-wrap:anywhere}
.findings li{display:flex;gap:10px;margin-top:8px;font-size:.92rem;line-height:1.45}
.findings li>div{min-width:0;overflow-wrap:anywhere}
.sign{flex:none;width:1em;font-size:.8em;line-height:1.8}
.tally{display:flex;flex-direction:column;font-size:.84rem;font-weight:600;white-space:nowrap}
`;

const TABLES = `
table{border-collapse:collapse;width:100%;font-size:.88rem}
th,td{text-align:left;vertical-align:top;padding:10px 14px 10px 0;border-bottom:1px solid var(--hairline);font-weight:400}
thead th{font-size:.78rem;color:var(--muted);vertical-align:bottom}
tbody th{min-width:0;overflow-wrap:anywhere}
.wide th:first-child{width:23%}
.wide .num{display:block}
.scroll{overflow-x:auto}
.matrix{width:auto;min-width:min(100%,560px)}
.matrix th,.matrix td{min-width:130px;max-width:230px;overflow-wrap:anywhere}
.matrix thead .key{color:var(--ink)}
.matrix tbody th{color:var(--muted);min-width:150px;padding-right:24px}
.queries{margin-top:8px}
.queries th:first-child{width:46%}
.queries code{white-space:pre-wrap}
h3+.queries,h3+table{margin-top:8px}
.grid+h3{margin-top:32px}
.note{margin-top:12px;max-width:76ch;font-size:.92rem;overflow-wrap:anywhere}
.always{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:18px 40px;margin-top:24px}
.always dt{font-size:.9rem;font-weight:600;color:var(--ink)}
.always dd{font-size:.92rem;color:var(--muted)}
`;

const FIGURES = `
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr));gap:36px 40px}
figure{min-width:0}
figure .heading{margin-bottom:12px}
figcaption{font-size:.84rem;line-height:1.5;margin-top:10px;overflow-wrap:anywhere}
.legend{white-space:nowrap}
.legend-list{display:flex;flex-wrap:wrap;gap:2px 16px;font-size:.84rem;margin-top:6px}
.swatch{width:10px;height:10px;margin-right:6px}
.share2{fill:var(--tone);fill-opacity:.62}
.share3{fill:var(--tone);fill-opacity:.32}
.share4{fill:var(--caution)}
.on-narrow{display:none}
.on-wide,.on-narrow{margin-bottom:18px}
`;

const SMALL = `
@media screen and (max-width:720px){
.page{padding:28px 18px 40px}
h1{font-size:1.45rem}
section{margin-top:44px}
.advice{padding:20px 20px 22px}
.verdict{font-size:1.25rem}
.facts{gap:12px 28px}
.on-wide{display:none}.on-narrow{display:block}
.wide thead,.queries thead{position:absolute;clip-path:inset(50%);height:1px;width:1px;overflow:hidden}
.wide,.wide tbody,.queries,.queries tbody{display:block}
.wide tr,.queries tr{display:block;padding:14px 0;border-bottom:1px solid var(--hairline)}
.wide th:first-child,.queries th:first-child{display:block;width:auto;border:0;padding:0 0 6px}
.wide td,.queries td{display:grid;grid-template-columns:9rem 6rem 1fr;gap:0 12px;border:0;padding:3px 0}
.wide td .num,.queries td>*{min-width:0}
.growing td,.queries td{grid-template-columns:9rem 1fr}
.wide td::before,.queries td::before{content:attr(data-name);color:var(--muted)}
.wide td .meter{align-self:center;margin:0}
.wide td>.muted{grid-column:2/-1}
.tally{flex-direction:row;flex-wrap:wrap;gap:0 12px;grid-column:2/-1}
}
@media screen and (min-width:721px) and (max-width:980px){.wide th,.wide td{padding-right:9px}.wide{font-size:.82rem}}
`;

const PRINT = `
@page{margin:16mm 14mm}
@media print{
body{font-size:10.5pt;background:none;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.page{max-width:none;padding:0}
section{margin-top:28pt}
h2,h3,h4,.lead,.intro,thead{break-after:avoid}
.intro{break-inside:avoid}
figure,.card,tr,.advice,.always>div{break-inside:avoid}
.grid{grid-template-columns:repeat(2,1fr);gap:20pt 24pt}
.cards{grid-template-columns:repeat(2,1fr)}
.scroll{overflow:visible}
.matrix{width:100%;font-size:.74rem;table-layout:fixed}
.matrix th,.matrix td{min-width:0;max-width:none;padding-right:6px}
.matrix thead .key{color:var(--ink)}
.matrix tbody th{min-width:0}
.wide{font-size:.74rem}
.wide th,.wide td{padding-right:7px}
.matrix thead .heading{flex-direction:column;gap:4px}
.skip,nav{display:none}
}
`;

export const PAGE_STYLE = [
  THEME_STYLE,
  TEXT,
  OPENING,
  CANDIDATES,
  TABLES,
  FIGURES,
  PICTURE_STYLE,
  SMALL,
  PRINT,
].join('');
