// Tests the checks of page-checks.ts on pages with one flaw each.

import { deepEqual, match } from "node:assert/strict";
import { test } from "node:test";
import type { Browser } from "playwright-core";
import { findFlaws, Measured } from "./page-checks.ts";

const LINES = "<p>Many lines of the same kind.</p>".repeat(40);

const FLAWED: readonly { what: string; style: string; body: string; flaw: RegExp }[] = [
	{
		what: "text with too little contrast in the dark theme",
		style:
			"@media (prefers-color-scheme: dark) { body { background: #000; color: #fff } .late { color: #333 } }",
		body: `${LINES}<p class="late">Hardly to be read.</p>`,
		flaw: /^1440 px, dark: color-contrast: .*class="late"/,
	},
	{
		what: "text with too little contrast on a phone",
		style: "@media (max-width: 500px) { .late { color: #ddd } }",
		body: `${LINES}<p class="late">Hardly to be read.</p>`,
		flaw: /^390 px, dark: color-contrast: .*class="late"/,
	},
	{
		what: "text of the same colour on another background",
		style: ".ground { background: #222 }",
		body: `${LINES}<div class="ground"><p id="late">Hardly to be read.</p></div>`,
		flaw: /^1440 px, light: color-contrast: .*id="late"/,
	},
	{
		what: "text of the same colour on the same background, both half transparent",
		style: ".ground { background: #fff } .veil { opacity: 0.3 }",
		body: `<div class="ground">${LINES}</div><div class="veil"><div class="ground"><p id="late">Hardly to be read.</p></div></div>`,
		flaw: /^1440 px, light: color-contrast: .*id="late"/,
	},
	{
		what: "text of the same colour that is small",
		style: ".grey { color: #888 } .large { font-size: 30px }",
		body: `<p class="grey large">Large enough.</p><p class="grey" id="late">Hardly to be read.</p>`,
		flaw: /^1440 px, light: color-contrast: .*id="late"/,
	},
	{
		what: "text of the same size and colour that is not bold",
		style: ".grey { color: #888; font-size: 20px } .bold { font-weight: 700 }",
		body: `<p class="grey bold">Large enough.</p><p class="grey" id="late">Hardly to be read.</p>`,
		flaw: /^1440 px, light: color-contrast: .*id="late"/,
	},
	{
		what: "a link in a sentence that looks like the many links that stand alone",
		style: "a { color: #333; text-decoration: none }",
		body: `${'<p><a href="#main">One by itself</a></p>'.repeat(20)}<p>Somebody reads <a id="late" href="#main">this</a> in the middle of a sentence.</p>`,
		flaw: /^1440 px, light: link-in-text-block: .*id="late"/,
	},
	{
		what: "something wider than a phone",
		style: ".late { width: 700px }",
		body: '<div class="late">Wide.</div>',
		flaw: /^390 px, light: it is wider than the window because of .*class="late"/,
	},
	{
		what: "a command that is cut off",
		style: "pre { overflow: auto }",
		body: `<div class="code"><pre tabindex="0">${"curl ".repeat(400)}</pre></div>`,
		flaw: /^1440 px, light: a text is cut at the edge of its box: curl/,
	},
	{
		what: "a box with an empty first line",
		style: "pre { margin: 0; padding-top: 40px; white-space: pre-wrap }",
		body: '<div class="code"><pre>ringback listen</pre></div>',
		flaw: /^1440 px, light: a box begins with an empty line: ringback listen/,
	},
	{
		what: "a time in a table that takes two lines",
		style: "td { width: 50px }",
		body: "<table><tr><td><time>18 Nov, 11:21</time></td></tr></table>",
		flaw: /^1440 px, light: a time takes two lines: 18 Nov, 11:21/,
	},
	{
		what: "a field without a name",
		style: "",
		body: '<input id="late" type="text">',
		flaw: /^1440 px, light: label: .*id="late"/,
	},
	{
		what: "a field that cuts what is pasted",
		style: "",
		body: '<label>Currency <input name="late" type="text" maxlength="3"></label>',
		flaw: /^browsers cut what is pasted into: late$/,
	},
	{
		what: "a field without a name that exists only on a phone",
		style: ".late { display: none } @media (max-width: 500px) { .late { display: block } }",
		body: '<input class="late" type="text">',
		flaw: /^390 px, light: label: .*class="late"/,
	},
	{
		what: "something that scrolls only on a phone, and cannot be reached by keyboard",
		style: "@media (max-width: 500px) { .late { overflow: auto; height: 50px } }",
		body: `<div class="late">${LINES}</div>`,
		flaw: /^390 px, light: scrollable-region-focusable: .*class="late"/,
	},
	{
		what: "a table that must be scrolled sideways on a tablet",
		style: ".table-scroll { overflow: auto } @media (min-width: 500px) { p { width: 700px } }",
		body: '<div class="table-scroll" tabindex="0" role="region" aria-label="Late"><p>One</p></div>',
		flaw: /^640 px: a table is wider than its place: Late$/,
	},
];

export function testFlaws(browser: () => Browser): void {
	test("a page without flaws passes", async () => {
		deepEqual(await flawsOf(browser(), "", LINES), []);
	});

	for (const { what, style, body, flaw } of FLAWED) {
		test(`the page checks find ${what}`, async () => {
			match((await flawsOf(browser(), style, body))[0] ?? "nothing", flaw);
		});
	}

	test("skipping looks that were measured on another page hides neither new looks nor looks that could not be measured there", async () => {
		const measured = new Measured();
		const style = ".cover { position: absolute; inset: 0; background: #fff } .late { color: #ddd }";
		const late = '<p class="late">Hardly to be read.</p>';
		deepEqual(await flawsOf(browser(), style, LINES, measured), []);
		deepEqual(await flawsOf(browser(), style, `${late}<div class="cover"></div>`, measured), []);
		for (const page of ["the next", "the one after it"]) {
			const [flaw = "nothing"] = await flawsOf(browser(), style, LINES + late, measured);
			match(flaw, /^1440 px, light: color-contrast: <p class="late"/, page);
		}
	});

	test("the other theme is measured for each new shape, and also for a known one that could not be measured", async () => {
		const measured = new Measured();
		const dark = ".cover { position: absolute; inset: 0; background: #fff } .night { color: #eee }";
		const style = `.night { color: #111 } @media (prefers-color-scheme: dark) { ${dark} }`;
		const night = '<p class="night">Read in daylight.</p>';
		deepEqual(await flawsOf(browser(), style, LINES, measured), []);
		deepEqual(await flawsOf(browser(), style, `${night}<div class="cover"></div>`, measured), []);
		for (const page of ["the next", "the one after it"]) {
			const [flaw = "nothing"] = await flawsOf(browser(), style, LINES + night, measured);
			match(flaw, /^1440 px, dark: color-contrast: <p class="night"/, page);
		}
	});
}

async function flawsOf(
	browser: Browser,
	style: string,
	body: string,
	measured?: Measured,
): Promise<string[]> {
	const page = await browser.newPage();
	await page.setContent(
		`<!doctype html><html lang="en"><head><title>Flaws · Ringback</title><meta name="viewport" content="width=device-width">` +
			`<style>body { background: #fff; color: #111 } ${style}</style></head><body><main><h1>Flaws</h1>${body}</main></body></html>`,
	);
	const flaws = await findFlaws(page, measured);
	await page.close();
	return flaws;
}
