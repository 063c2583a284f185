/** The style of the page of a migration: large enough to be read from across the room, and on a phone. */
import { PICTURE_STYLE, THEME_STYLE } from '../svg/theme.ts';
import { TILE_STYLE } from '../svg/tiles.ts';

const TEXT = `
:root{--mono:ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;
--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 var(--sans);font-variant-numeric:tabular-nums}
.page{max-width:1240px;margin:0 auto;padding:28px 32px 48px}
h1,h2,h3,p,ul,ol,dl,dd,figure{margin:0;padding:0}
ul,ol{list-style:none}
h2{font-size:1.05rem;font-weight:650}
h3{font-size:.9rem;font-weight:600;margin:14px 0 6px}
.muted,.note,.empty,.sub,figcaption,footer,dt{color:var(--muted)}
.muted{font-weight:400}
.over{font-size:.78rem;font-weight:650;letter-spacing:.08em;text-transform:uppercase;color:var(--muted)}
.name{font-size:1.15rem;font-weight:600;overflow-wrap:anywhere}
.key{font-family:var(--mono);font-size:.9em;overflow-wrap:anywhere}
.alarm{color:var(--alarm)}.good{color:var(--good)}.caution{color:var(--caution)}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.note{font-size:.82rem;margin-top:10px}
.empty{margin-top:8px}
footer{display:flex;flex-wrap:wrap;gap:4px 24px;margin-top:28px;font-size:.82rem}
#link{position:fixed;z-index:1;inset:auto 0 0;padding:12px 32px;background:var(--card);border-top:3px solid var(--alarm);color:var(--alarm);font-weight:600}
#link:empty{display:none}
.stale main{filter:grayscale(1)}
.stale .page{padding-bottom:96px}
main{display:flex;flex-direction:column}
main:has(.switching,.returning) #now{order:-3}
main:has(.switching,.returning) #work{order:-2}
main:has(.switching) #cutover,main:has(.returning) #back{order:-1}
`;

const NOW = `
header{display:flex;flex-wrap:wrap;gap:0 20px;align-items:baseline}
.stages{display:flex;gap:6px;margin-top:18px}
.stages li{flex:1;padding-top:8px;border-top:5px solid var(--track);font-size:.9rem;color:var(--muted)}
.stages .past{border-color:var(--good)}
.stages .skipped{border-top-style:dotted}
.stages .here{border-color:var(--tone1);color:var(--ink);font-weight:650}
.headline{margin-top:22px;min-height:6.5rem}
.headline h1{font-size:clamp(1.7rem,4.2vw,3.1rem);line-height:1.12;font-weight:680;letter-spacing:-.02em;text-wrap:balance}
.headline p{font-size:clamp(1rem,1.7vw,1.3rem);margin-top:8px;color:var(--muted);overflow-wrap:anywhere;text-wrap:pretty}
.headline.wait h1,.headline.wait p{color:var(--caution)}
.headline.alarm h1,.headline.alarm p{color:var(--alarm)}
.headline.good h1{color:var(--good)}
`;

const PARTS = `
.figures{display:grid;grid-template-columns:repeat(4,minmax(0,1fr));gap:18px;margin-top:20px}
.figure{background:var(--card);border:1px solid var(--hairline);border-radius:10px;padding:14px 18px 16px;min-height:13.25rem}
.figure dt{font-size:.84rem}
.big{font-size:clamp(1.6rem,2.9vw,2.5rem);font-weight:650;letter-spacing:-.02em;line-height:1.2}
.figure .big,.sub{display:block}
.sub{font-size:.84rem;line-height:1.45;margin-top:2px;text-wrap:balance}
.figure .meter{max-width:none;margin:6px 0 4px}
.rows .meter{max-width:none}
.card{background:var(--card);border:1px solid var(--hairline);border-radius:10px;padding:16px 20px 18px;margin-top:18px;min-width:0}
.card:empty{display:none}
summary{cursor:pointer;font-weight:600;font-size:.92rem}
details:has(#each:empty){display:none}
details.card{padding-block:12px}
.columns{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:0 18px}
.charts{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:18px;margin-top:10px}
figcaption{font-size:.82rem;margin-top:4px}
.key.k1,.key.k3{font:inherit;font-weight:600;color:var(--tone)}
.strip h3{display:flex;flex-wrap:wrap;gap:0 10px}
.rows{margin-top:8px}
.rows>div{display:grid;grid-template-columns:minmax(84px,28%) 1fr;gap:0 12px;padding:5px 0;border-bottom:1px solid var(--hairline)}
.rows dt{overflow-wrap:anywhere}
.list li,.events li,.steps li,.ticks li{padding:5px 0;font-size:.92rem;overflow-wrap:anywhere;border-bottom:1px solid var(--hairline)}
.events li{display:grid;grid-template-columns:7rem 1fr}
.events time{color:var(--muted)}
.steps li{display:flex;justify-content:space-between;gap:12px}
.steps .now{font-weight:650}
.ticks .met>span:first-child{color:var(--good);font-weight:700}
.ticks .unmet>span:first-child{color:var(--alarm);font-weight:700}
.ticks .open>span:first-child{color:var(--muted)}
.tag{display:inline-block;padding:0 8px;border:1px solid currentcolor;border-radius:10px;font-size:.74rem;font-weight:600;white-space:nowrap}
.tag.taken{color:var(--good)}
.plan .key{color:var(--ink)}
.findings li{padding:1px 0}
.verdict{font-size:1.15rem;font-weight:600;margin-top:8px}
`;

const PICTURES = `
.area{fill:var(--tone);fill-opacity:.16}
.thin{fill:none;stroke:var(--tone);stroke-width:1.6;stroke-linejoin:round}
.tiles{display:block;width:100%;height:3.25rem}
.unknown{padding-top:.8rem;background:var(--track);color:var(--ink);text-align:center;font-size:.84rem}
#moved,#proof{min-height:16.5rem}
#letters{align-self:start}
.tile text{font-size:.8125rem;fill:var(--ink);font-variant-numeric:tabular-nums}
${TILE_STYLE}
.tile .from-none{display:none}
@media (max-width:1239px){.tile .from-wide{display:none}}
@media (min-width:1240px){.tile .until-wide{display:none}}
@media (max-width:799px){.tile .from-laptop{display:none}}
@media (min-width:800px){.tile .until-laptop{display:none}}
.rest{fill:var(--caution)}
.fresh{fill:var(--tone1)}
`;

const SMALL = `
@media (max-width:860px){
.page{padding:18px 16px 36px}
.figures{grid-template-columns:repeat(2,minmax(0,1fr));gap:10px}
.figure{padding:10px 12px 12px;min-height:0}
.headline{min-height:7.75rem}
#moved,#proof{min-height:0}
.rows.plan>div{grid-template-columns:minmax(0,1fr);gap:2px}
.charts,.columns{grid-template-columns:minmax(0,1fr)}
.stages{gap:3px}.stages li{font-size:clamp(.66rem,2.9vw,.76rem)}
.card{padding:14px}
}
@media (min-width:2000px){html{font-size:24px}.page{max-width:2200px}body{font-size:24px}}
@media print{
.card,.figure,figure,li{break-inside:avoid}
h2,h3{break-after:avoid}
body{font-size:13px}
main{display:block}
.page{max-width:none;padding:0 1px}
.charts,.columns{grid-template-columns:repeat(2,minmax(0,1fr))}
.figures{grid-template-columns:repeat(4,minmax(0,1fr));gap:10px}
.figure,.headline{min-height:0}
.card,.figure{padding:10px 12px;margin-top:12px}
}
`;

/** What only the report of cosmig status has. */
const REPORT = `
/* Nothing on it changes, so no space is kept free. */
.still .figure,.still .headline,.still #moved,.still #proof{min-height:0}
.spread,.strip{display:block;overflow:visible}
.spread text{font-size:13px;font-weight:650;fill:var(--tone);font-variant-numeric:tabular-nums}
.bar{stroke:var(--card);stroke-width:1}
.spread .half{fill-opacity:.45}
.strip{margin-top:12px}
#spread figure{margin-top:12px}
#spread .columns,#timeline .columns{gap:0 36px}
.keys{display:flex;flex-wrap:wrap;gap:2px 18px}
.keys .key{font:inherit;color:var(--tone);font-weight:600}
.timeline{margin-top:10px}
.timeline li{display:grid;grid-template-columns:6.5rem 1fr auto;gap:0 12px;padding:5px 0;font-size:.92rem;overflow-wrap:anywhere;border-bottom:1px solid var(--hairline)}
.timeline time{color:var(--muted)}
`;

export const WATCH_STYLE = [THEME_STYLE, TEXT, NOW, PARTS, PICTURE_STYLE, PICTURES, REPORT, SMALL].join('');
