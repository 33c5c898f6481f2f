// Checks for every page: accessibility and layout, in both themes, on a phone and on a desktop, and whether it fits a
// tablet.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { CDPSession, Page } from "playwright-core";

const WIDTHS = [1440, 390] as const;
const HEIGHT = 900;
/**
 * Minified axe-core script, which the browser loads on every page. The package exports only the unminified
 * one.
 */
const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/**
 * Maximum length of a page by width: three screens on a desktop, and more on a phone, where rows are cards.
 */
const LONGEST_PX: Readonly<Record<(typeof WIDTHS)[number], number>> = { 1440: 3 * HEIGHT, 390: 6 * HEIGHT };

/** Returns the widths at which the page is too long. */
export async function findExcess(page: Page): Promise<string[]> {
	const excess: string[] = [];
	// The desktop comes last, because the next check expects this width.
	for (const width of WIDTHS.toReversed()) {
		await showAt(page, width);
		const longPx = await page.evaluate<number>("document.documentElement.scrollHeight");
		if (longPx > LONGEST_PX[width]) excess.push(`${longPx} px at a width of ${width}`);
	}
	return excess;
}

/** What was measured on the pages before. */
export class Measured {
	/**
	 * Looks of texts and links that were measured, by width and theme. A look is everything that decides the contrast.
	 */
	readonly looks = new Map<string, Set<string>>();
	/** Shapes of elements whose looks were measured at every width and in both themes. */
	readonly shapes = new Set<number>();
}

/**
 * Order in which widths and themes are checked, from a desktop with the light theme. Each step changes only
 * one thing, because every change costs a new layout.
 */
const ROUND = [
	[1440, "light", "all"],
	// The other theme differs only in colours, so the other rules need not run again. If every shape on the page was measured
	// before, these two steps are left out.
	[1440, "dark", "looks"],
	[390, "dark", "looks"],
	[390, "light", "what is new"],
] as const;

/**
 * Widths of tablets. Only the layout of pages with tables is checked there, because a tablet shows the looks and the
 * other parts of a phone or of a desktop.
 */
const TABLETS = [640, 768] as const;

/**
 * Returns all flaws of the open page. Looks that were measured on another page are not measured again. A caller that checks
 * many pages passes the same `measured` to each call.
 */
export async function findFlaws(page: Page, measured = new Measured()): Promise<string[]> {
	await showAt(page, 1440);
	await loadAxe(page);
	const flaws = await page.evaluate<string[]>(`${SAMPLE_LOOKS};\n${STRUCTURE}`);
	const newShapes = await page.evaluate<number[]>(`findShapes(${JSON.stringify([...measured.shapes])})`);
	let isComplete = true;
	for (const [width, colorScheme, rules] of ROUND) {
		if (rules === "looks" && newShapes.length === 0) continue;
		await showAt(page, width);
		await page.emulateMedia({ colorScheme });
		const at = `${width} px, ${colorScheme}`;
		const known = measured.looks.getOrInsertComputed(at, () => new Set());
		const call = `(${MEASURE})(${JSON.stringify([...known])}, "${rules}")`;
		const result = await page.evaluate<MeasuredPage>(call);
		for (const look of result.measured) known.add(look);
		isComplete &&= result.isComplete;
		flaws.push(...result.flaws.map((flaw) => `${at}: ${flaw}`));
	}
	if (isComplete) for (const shape of newShapes) measured.shapes.add(shape);
	const hasTable = await page.evaluate<boolean>(`document.querySelector(".table-scroll") !== null`);
	for (const width of hasTable ? TABLETS : []) {
		await showAt(page, width);
		const wide = await page.evaluate<string[]>(`[...${FIND_OVERFLOW}, ...${FIND_WIDE_TABLES}]`);
		flaws.push(...wide.map((flaw) => `${width} px: ${flaw}`));
	}
	await showAt(page, 1440);
	return flaws;
}

/** Sessions with the browser's debugging protocol. */
const sessions = new WeakMap<Page, Promise<CDPSession>>();

/**
 * Runs the axe-core script in the open page. The browser stores its text for each site, because sending the text takes
 * 80 ms of a page's 400. Only the debugging protocol may evaluate a stored text without a violation of the content
 * security policy.
 */
async function loadAxe(page: Page): Promise<void> {
	if (!page.url().startsWith("http")) {
		await page.evaluate(AXE);
		return;
	}
	const session = await sessions.getOrInsertComputed(page, () => page.context().newCDPSession(page));
	const run = async (): Promise<boolean> => {
		const expression = `(0, eval)(localStorage.getItem("axe-core")); typeof axe === "object"`;
		const { result } = await session.send("Runtime.evaluate", { expression });
		return result.value === true;
	};
	if (await run()) return;
	await page.evaluate<void, string>((text) => localStorage.setItem("axe-core", text), AXE);
	if (!(await run())) throw new Error("axe-core does not run in the page");
}

async function showAt(page: Page, width: number): Promise<void> {
	if (page.viewportSize()?.width !== width) await page.setViewportSize({ width, height: HEIGHT });
}

interface MeasuredPage {
	flaws: readonly string[];
	measured: readonly string[];
	/** False if a look could not be measured here. */
	isComplete: boolean;
}

/** Returns inline scripts and styles in the answer. Styles that the chart library sets later by script are allowed. */
export function findInline(answer: string): string[] {
	// Values of attributes are removed, because they may contain any text. Links are checked below.
	const html = answer.replace(/="(?!\s*javascript:)[^"]*"/gi, '=""').replace(/(<script src)=""/g, "$1=''");
	const patterns: readonly (readonly [string, RegExp])[] = [
		["an inline script", /<script(?! src=)/i],
		["an inline style sheet", /<style/i],
		["a style attribute", /<[a-z][^>]*\sstyle\s*=/i],
		["an event handler", /<[a-z][^>]*\son[a-z]+\s*=/i],
		["a script's address", /(?:href|src|action)\s*=\s*["']?\s*javascript:/i],
	];
	return patterns.flatMap(([what, pattern]) =>
		pattern.test(html) ? [`${what}: ${pattern.exec(html)?.[0]}`] : [],
	);
}

const STRUCTURE = `(() => {
	const flaws = [];
	const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")];
	const levels = headings.map((heading) => Number(heading.tagName[1]));
	if (levels.filter((level) => level === 1).length !== 1) flaws.push("it needs one h1, and has " + levels);
	levels.forEach((level, index) => {
		if (index > 0 && level > levels[index - 1] + 1) flaws.push("a level is left out before: " + headings[index].textContent);
	});
	if (!/^.+ · .+$/s.test(document.title)) flaws.push("its title is: " + document.title);
	const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
	const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
	if (twice.length > 0) flaws.push("ids that come twice: " + twice);
	for (const field of document.querySelectorAll("[maxlength]")) flaws.push("browsers cut what is pasted into: " + field.name);
	if (document.querySelector("main script, main img[src=x]") !== null) flaws.push("markup of somebody's text");
	return flaws;
})()`;

/**
 * The contrast of a text depends on its colours, size, weight and background. Of all texts that have these in common only
 * one is measured, because measuring thousands of texts on each page took most of the tests' time. The same holds for
 * links that look the same in texts that look the same.
 */
const SAMPLE_LOOKS = `(() => {
	axe.configure({ rules: [
		{ id: "color-contrast", selector: "[data-contrast-sample]" },
		{ id: "link-in-text-block", selector: "[data-link-sample]" },
	] });
	const LAYER = ["backgroundColor", "backgroundImage", "opacity", "filter", "mixBlendMode"];
	const CLEAR = ["rgba(0, 0, 0, 0)", "none", "1", "none", "normal"].join();
	/** Pattern for a layer that hides everything below it. */
	const OPAQUE = /^rgb\\([^)]*\\),none,1,none,normal$/;
	const VEIL = ["opacity", "filter", "mixBlendMode"];
	const NO_VEIL = ["1", "none", "normal"].join();
	const TEXT = ["color", "textShadow", "webkitTextStrokeWidth", "webkitTextFillColor"];
	const read = (element, names) => {
		const style = getComputedStyle(element);
		return names.map((name) => style[name]).join();
	};
	const remember = (known, find) => (element) => {
		if (element === null) return "";
		if (!known.has(element)) known.set(element, find(element));
		return known.get(element);
	};
	const veils = new Map();
	const layers = new Map();
	/** Returns the opacity, filters and blend modes of an element and its ancestors. */
	const veilsOf = remember(veils, (element) => {
		const veil = read(element, VEIL);
		const around = veilsOf(element.parentElement);
		return veil === NO_VEIL ? around : [veil, around].join("/");
	});
	const layersOf = remember(layers, (element) => {
		const layer = read(element, LAYER);
		// A positioned element may lie on another background than its parent's.
		const place = ["absolute", "fixed", "sticky"].includes(getComputedStyle(element).position) ? element.className : "";
		if (OPAQUE.test(layer)) return [layer, place, veilsOf(element.parentElement)].join("/");
		const below = layersOf(element.parentElement);
		// A fully transparent layer does not change the background.
		return layer === CLEAR && place === "" ? below : [layer, place, below].join("/");
	});
	/** Returns true if the text counts as large. The contrast rule considers size and weight only for this. */
	const isLarge = ({ fontSize, fontWeight }) => Math.ceil(parseFloat(fontSize) * 72) / 96 >= (Number(fontWeight) >= 700 ? 14 : 18);
	const hasText = (element) => element.matches("input, select, textarea") ||
		[...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
	const LINK = ["display", "fontSize", "fontWeight", "textDecorationLine", "fontFamily", "fontStyle", "borderTopWidth",
		"borderRightWidth", "borderBottomWidth", "borderLeftWidth"];
	/** Display values of links that the rule does not count as part of a text. */
	const BOXES = ["block", "list-item", "table", "flex", "grid", "inline-block", "inline-flex", "inline-grid"];
	const lengthOf = (element) => element.textContent.replace(/\\s+/g, " ").trim().length;
	const textAround = (link) => {
		let block = link.parentElement;
		while (getComputedStyle(block).display.startsWith("inline")) block = block.parentElement;
		// In a block with line breaks each line is a separate text, so every link in it is checked.
		if (block.querySelector("br") !== null) return null;
		const own = [...block.querySelectorAll("a, button, summary")].reduce((sum, each) => sum + lengthOf(each), 0);
		return [read(block, TEXT), read(block, LINK), lengthOf(block) - own > own].join();
	};
	globalThis.sampleLooks = (known) => {
		layers.clear();
		veils.clear();
		const seen = new Set(known);
		/** Pairs of an element and its look. The look is null if the element must always be measured. */
		const samples = [];
		const take = (element, mark, look) => {
			if (!element.checkVisibility({ visibilityProperty: true }) || seen.has(look)) return;
			if (look !== null) seen.add(look);
			samples.push([element, look]);
			element.setAttribute(mark, "");
		};
		for (const element of document.querySelectorAll("body, body *")) {
			element.removeAttribute("data-contrast-sample");
			element.removeAttribute("data-link-sample");
			if (!hasText(element)) continue;
			const isOff = element.matches(":disabled, [aria-disabled=true] *");
			const look = [layersOf(element), read(element, TEXT), isLarge(getComputedStyle(element)), isOff].join("|");
			take(element, "data-contrast-sample", look);
		}
		for (const link of document.querySelectorAll("a[href]")) {
			if (BOXES.includes(getComputedStyle(link).display)) continue;
			const around = textAround(link);
			const look = ["link", layersOf(link), read(link, TEXT), read(link, LINK), around].join("|");
			take(link, "data-link-sample", around === null ? null : look);
		}
		return samples;
	};
	/** Attributes that hardly any style rule can depend on. */
	const ANY_VALUE = /^(?:id|href|src|action|for|name|value|alt|title|placeholder|content|datetime|d|points|c?x\\d?|c?y\\d?|width|height|aria-(?:label|labelledby|describedby|controls))$/;
	/**
	 * Returns the shapes of elements that are not among the known ones. Two elements have the same shape if they and their
	 * ancestors have the same tags and attributes, and if both or neither contain text. They then have the same looks.
	 */
	globalThis.findShapes = (known) => {
		const seen = new Set(known);
		const found = new Set();
		const hashes = new Map([[null, 0]]);
		for (const element of document.querySelectorAll("*")) {
			const attributes = [...element.attributes].filter(({ name }) => !ANY_VALUE.test(name) && !name.endsWith("-sample"));
			const words = [element.tagName, hasText(element), ...attributes.map(({ name, value }) => name + "=" + value)].join(" ");
			let hash = hashes.get(element.parentElement);
			for (let at = 0; at < words.length; at++) hash = (Math.imul(hash, 31) + words.charCodeAt(at)) | 0;
			hashes.set(element, hash);
			if (!seen.has(hash)) found.add(hash);
		}
		return [...found];
	};
	const isVisible = (element) => element.checkVisibility({ visibilityProperty: true });
	const isCutOff = (element) => element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
	const scrolls = (element) => /auto|scroll/.test(read(element, ["overflowX", "overflowY"])) && isCutOff(element);
	const kindOf = (element) => [element.tagName, element.className, element.getAttribute("role"), element.tabIndex].join(".");
	const atDesk = new Set([...document.querySelectorAll("body *")].filter(isVisible));
	/**
	 * Returns the kinds of elements that are visible here but not on a desktop, or that scroll here, each with
	 * its parent's kind.
	 */
	globalThis.findOnlyHere = () => {
		const here = [...document.querySelectorAll("body *")].filter((element) => isVisible(element) && (!atDesk.has(element) || scrolls(element)));
		return [...new Set(here.map((element) => "only here: " + kindOf(element) + " < " + kindOf(element.parentElement)))];
	};
	globalThis.describeFlaws = ({ violations }) => violations.map(({ id, nodes }) =>
		id + ": " + nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 160) + " " + failureSummary).join(" ; "));
})()`;

const LOOKS = ["color-contrast", "link-in-text-block"] as const;
const ALL = JSON.stringify({ resultTypes: ["violations", "incomplete"], elementRef: true });
const ALL_BUT_LOOKS = JSON.stringify({
	resultTypes: ["violations"],
	rules: Object.fromEntries(LOOKS.map((id) => [id, { enabled: false }])),
});
const ONLY_LOOKS = JSON.stringify({
	resultTypes: ["violations", "incomplete"],
	elementRef: true,
	runOnly: { type: "rule", values: LOOKS },
});

const FIND_OVERFLOW = `(() => {
	if (document.documentElement.scrollWidth <= innerWidth) return [];
	const wide = [...document.querySelectorAll("main *, header *")].filter((element) => {
		const { right, width } = element.getBoundingClientRect();
		return width > 0 && right > innerWidth && element.closest(".table-scroll, pre, .sidebar, .tabs-list") === null;
	});
	return ["it is wider than the window because of " + wide.slice(0, 3).map((element) => element.outerHTML.slice(0, 120)).join(" ; ")];
})()`;

/** Finds tables that must be scrolled sideways. */
const FIND_WIDE_TABLES = `[...document.querySelectorAll(".table-scroll")]
	.filter((table) => table.checkVisibility() && table.scrollWidth > table.clientWidth)
	.map((table) => "a table is wider than its place: " + table.getAttribute("aria-label"))`;

/** Finds commands and texts that do not wrap or do not begin at the top of their box. Code with a title may scroll. */
const FIND_CUT_CODE = `[...document.querySelectorAll(".code:not([data-title])")].flatMap((box) => {
	const pre = box.querySelector("pre");
	if (pre === null || !pre.checkVisibility()) return [];
	const text = document.createRange();
	text.selectNodeContents(pre);
	const emptyPx = text.getBoundingClientRect().top - box.getBoundingClientRect().top;
	const what = pre.textContent.slice(0, 60);
	return [
		...(pre.scrollWidth > pre.clientWidth ? ["a text is cut at the edge of its box: " + what] : []),
		...(emptyPx > 24 ? ["a box begins with an empty line: " + what] : []),
	];
})`;

/** Finds times in tables that take two lines on a desktop. */
const FIND_BROKEN_TIMES = `(innerWidth < 1200 ? [] : [...document.querySelectorAll("td time")])
	.filter((time) => time.checkVisibility() && time.getClientRects().length > 1)
	.map((time) => "a time takes two lines: " + time.textContent)`;

/**
 * Function that runs in the page. It applies all rules, or only the rules about looks, to looks that were not
 * measured before. A look that cannot be measured here, because another element covers it, is measured on
 * another page.
 */
const MEASURE = `async (known, rules) => {
	const samples = sampleLooks(known);
	const seen = new Set(known);
	const onlyHere = rules === "what is new" ? findOnlyHere().filter((kind) => !seen.has(kind)) : [];
	const isLong = rules === "all" || onlyHere.length > 0;
	const found = rules === "looks" ? [] : [...${FIND_OVERFLOW}, ...${FIND_CUT_CODE}, ...${FIND_BROKEN_TIMES}];
	if (samples.length === 0 && !isLong) return { flaws: found, measured: [], isComplete: true };
	const options = samples.length === 0 ? ${ALL_BUT_LOOKS} : isLong ? ${ALL} : ${ONLY_LOOKS};
	const result = await axe.run(document, options);
	const ofLooks = [...result.violations, ...result.incomplete].filter(({ id }) => ${JSON.stringify(LOOKS)}.includes(id));
	const open = new Set(ofLooks.flatMap(({ nodes }) => nodes.map(({ element }) => element)));
	const measured = samples.flatMap(([element, look]) => (look === null || open.has(element) ? [] : [look]));
	const isComplete = measured.length === samples.filter(([, look]) => look !== null).length;
	return { flaws: [...found, ...describeFlaws(result)], measured: [...measured, ...onlyHere], isComplete };
}`;
