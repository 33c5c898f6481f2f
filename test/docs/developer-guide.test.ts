// Tests the documents for shops' developers as files. Their statements match the code, and their links lead to existing
// files and headings.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { verifyPostback } from "@ringback/receiver";
import { outranks } from "@ringback/receiver/durable";
import { lexer, type Token, walkTokens } from "marked";
import { EXAMPLE_SECRET } from "#core/api/openapi/examples.ts";
import { RENEW_EVERY_MS } from "#core/callbacks/slots.ts";
import { judgeMove, judgeReport, moveRule, type Status, statusAfter } from "#core/domain/conversion.ts";
import { bodySentAt, composeEvent } from "#core/domain/event.ts";
import { parsePostbackUrl } from "#core/domain/postback-url.ts";
import { headerNames } from "#core/domain/signature.ts";
import { SECOND_MS } from "#core/domain/time.ts";
import { DEFAULT_PARKED_DAYS } from "#core/programmes/programme-terms.ts";
import { SILENT_MS } from "#core/store/queries/queue.ts";
import { PUBLIC_DOCUMENTS } from "#core/web/docs/document-list.ts";
import { EXAMPLE_LANGUAGES } from "#core/web/examples.ts";
import { GENERATED_IN, SAMPLE_TARGET, sampleCallback, writeGenerated } from "../../docs/generated.ts";
import { headingId } from "../../docs/markdown.ts";
import { RECEIVER_FIELDS, writeReceiverFields } from "../../docs/receiver-fields.ts";
import { PIXEL_RATES } from "../../src/concurrency/admission.ts";

const ROOT = new URL("../../", import.meta.url);
const PAGES = PUBLIC_DOCUMENTS.filter(({ file }) => file !== "docs/problems.md").map(({ file }) => {
	const url = new URL(file, ROOT);
	const text = readFileSync(url, "utf8");
	const tokens = allTokens(text);
	const headings = tokens.filter(({ type }) => type === "heading");
	return {
		file,
		url,
		text,
		headingCount: headings.length,
		ids: new Set(headings.map((heading) => headingId(plain(heading)))),
		hrefs: tokens.flatMap((token) => (token.type === "link" ? [String(token["href"])] : [])),
		markup: tokens.filter((token) => token.type === "html").map(({ raw }) => raw.trim()),
	};
});
const CALLBACKS = readPage("docs/callbacks.md");
const RULES = readPage("docs/rules.md");
const RETRIES = readPage("docs/retries.md");
const PIXEL = readPage("docs/pixel.md");
/** Pattern for the start of a generated part. */
const GENERATED = /^(?=<!-- generated: )/m;
const SAMPLE = sampleCallback();

for (const path of GENERATED_IN) {
	test(`the generated parts of ${path} are up to date: \`npm run docs\` has been run`, () => {
		const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
		const stands = text.split(GENERATED);
		const built = writeGenerated(text).split(GENERATED);
		assert.ok(stands.length > 1);
		// The names of the parts are compared, because the whole text would be too long to read.
		const differing = built.filter((part, at) => part !== stands[at]).map((part) => part.split("\n")[0]);
		assert.deepEqual(differing, [], "run npm run docs");
	});
}

test(`${RECEIVER_FIELDS} is up to date: \`npm run docs\` has been run`, () => {
	const text = readFileSync(new URL(`../../${RECEIVER_FIELDS}`, import.meta.url), "utf8");
	assert.equal(text, writeReceiverFields(), "run npm run docs");
});

test("the build replaces only the text between its comments, and refuses an unknown name", () => {
	const built = writeGenerated("before\n<!-- generated: retry-calendar -->\nold\n<!-- /generated -->\nafter");
	assert.match(
		built,
		/^before\n<!-- generated: retry-calendar -->\n\| Attempt .*\n<!-- \/generated -->\nafter$/s,
	);
	assert.doesNotMatch(built, /old/);
	assert.throws(() => writeGenerated("<!-- generated: nothing -->\n<!-- /generated -->"), /the part nothing/);
});

test("the receiver, the sender and the click program of every language are linked once", () => {
	for (const [role, file] of [
		["receiver", "docs/rules.md"],
		["sender", "docs/report-sales.md"],
		["click", "docs/click-ids.md"],
	] as const) {
		const links = readPage(file).matchAll(/\[([^\]]+)\]\(\.\.\/(examples\/[^)]+)\)/g);
		assert.deepEqual(
			Array.from(links, ([, ...link]) => link),
			EXAMPLE_LANGUAGES.map((language) => [language.label, `examples/${language.value}/${language[role]}`]),
		);
	}
});

describe("links of the documents", () => {
	test("no two headings of a document have the same id", () => {
		for (const { file, ids, headingCount } of PAGES) assert.equal(ids.size, headingCount, file);
	});

	test("every link leads to an existing file and to one of its headings", () => {
		let followed = 0;
		for (const { file, url, hrefs } of PAGES) {
			for (const href of hrefs.filter((each) => !/^(?:https:|\/)/.test(each))) {
				const [path = "", id] = href.split("#");
				const target = new URL(path, url);
				assert.ok(existsSync(target), `${file} → ${href}`);
				const { ids } = PAGES.find((page) => page.url.href === target.href) ?? {};
				assert.ok(id === undefined || ids === undefined || ids.has(id), `${file} → ${href}`);
				followed++;
			}
		}
		assert.ok(followed > 100, String(followed));
	});

	test("the documents have no markup except the build's comments", () => {
		const comment =
			/^<!-- (?:\/?(?:generated|examples|client|listen)|generated: [a-z-]+|examples: [a-z]+|versions|basket values) -->$/;
		for (const { file, text, markup } of PAGES) {
			assert.deepEqual(
				markup.filter((raw) => !comment.test(raw)),
				[],
				file,
			);
			assert.doesNotMatch(
				text.replace(/^```.*?^```$/gms, "").replaceAll(/`[^`\n]*`/g, ""),
				/&[a-z]+;|&#\d+;/,
				"the page would show a character reference as it is written",
			);
		}
	});
});

describe("the sample request", () => {
	test("the sample request is accepted by the library that shops install, at the time of sending", async () => {
		const request = {
			path: SAMPLE_TARGET,
			headers: Object.fromEntries(SAMPLE.headers),
			rawBody: SAMPLE.body,
			secret: EXAMPLE_SECRET,
		};
		const verified = await verifyPostback({ ...request, now: Date.parse(JSON.parse(SAMPLE.body).sentAt) });
		assert.ok(verified.ok, JSON.stringify(verified));
		assert.equal(verified.event.event, "conversion.approved");
		const late = await verifyPostback(request);
		assert.equal(late.ok ? "verified" : late.reason, "stale_timestamp");
	});

	test("the sample request is in the text, with the secret that the text names", () => {
		assert.ok(CALLBACKS.includes(SAMPLE.body));
		assert.ok(CALLBACKS.includes(`\`${EXAMPLE_SECRET}\``));
	});
});

describe("the description of a callback", () => {
	test("the table of headers has every header that is sent", () => {
		const named = firstCells(CALLBACKS, "Headers");
		const sent = SAMPLE.headers.map(([name]) => name);
		assert.deepEqual(new Set(named), new Set(sent.filter((name) => name !== "Host")));
		for (const name of Object.values(headerNames("Service"))) assert.ok(named.includes(name));
	});

	test("the table of fields has the 14 of the body, in their order", () => {
		assert.deepEqual(firstCells(CALLBACKS, "Body"), Object.keys(JSON.parse(SAMPLE.body)));
		assert.equal(firstCells(CALLBACKS, "Body").length, 14);
	});

	test("the table of moves has every move that is announced, and no other", () => {
		const rows = tableOf(RETRIES, "Repeats and order").map(([from = "", to = ""]) => [
			codeWords(from)[0] ?? null,
			codeWords(to),
		]);
		assert.deepEqual(rows, [
			[null, firstRecorded()],
			["RECORDED", announcedFrom("RECORDED")],
			["APPROVED", announcedFrom("APPROVED")],
		]);
		assert.deepEqual([...announcedFrom("REJECTED"), ...announcedFrom("REVERSED")], [], "final");
	});
});

test("the ranks of statuses in the rules are those of the library, and every status has one", () => {
	const ranked = tableOf(RULES, "8. Use an event only if its status ranks higher").map(([, statuses = ""]) =>
		codeWords(statuses),
	);
	assert.deepEqual(new Set(ranked.flat()), new Set(statusesOnTheWire()));
	for (const [rank, statuses] of ranked.entries()) {
		for (const status of statuses) {
			const lower = ranked.flat().filter((stored) => outranks(status, stored));
			assert.deepEqual(lower, ranked.slice(0, rank).flat(), status);
		}
	}
});

describe("the limits in the documents", () => {
	test("a URL of 2,048 characters can be saved, and a longer one cannot", () => {
		const url = (length: number) => "https://shop.example/".padEnd(length, "a");
		assert.ok(parsePostbackUrl(url(2_048)).ok);
		assert.ok(!parsePostbackUrl(url(2_049)).ok);
	});

	test("the longest body of a callback has less than 2 KB", () => {
		const event = composeEvent({
			conversionId: "c".repeat(64),
			orderId: "\u{1f6d2}".repeat(128),
			programId: "p".repeat(64),
			status: "RECORDED",
			eventType: "SUBSCRIPTION",
			basketValue: "123456789012.123",
			commission: "123456789012.123",
			networkFee: "123456789012.123",
			currency: "BHD",
			reason: "TERMS_VIOLATION",
			test: false,
			occurredAtMs: 0,
		});
		assert.ok(Buffer.byteLength(bodySentAt("conversion.recorded", event, 0)) < 2_000);
	});

	test("numbers that appear only in sentences are those of the code", () => {
		const facts: Readonly<Record<string, readonly [pattern: RegExp, numbers: readonly number[]]>> = {
			"takeover of a dead engine": [/again within (\d+) seconds/, [(SILENT_MS + RENEW_EVERY_MS) / SECOND_MS]],
			"days that a pixel's order waits": [/in time: (\d+) days/, [DEFAULT_PARKED_DAYS]],
			"pixel calls from one address block": [
				/(\d+) calls a second and (\d+) at once from one address block/,
				[PIXEL_RATES.addressBlock.perSecond, PIXEL_RATES.addressBlock.burst],
			],
			"pixel calls for one programme": [
				/([\d,]+) a second and ([\d,]+) at once for one programme/,
				[PIXEL_RATES.programme.perSecond, PIXEL_RATES.programme.burst],
			],
		};
		for (const [what, [pattern, numbers]] of Object.entries(facts)) {
			const found = [...(pattern.exec(RETRIES + PIXEL) ?? [])]
				.slice(1)
				.map((text) => Number(text.replaceAll(",", "")));
			assert.deepEqual(found, numbers, what);
		}
	});
});

function statusesOnTheWire(): Status[] {
	return ["RECORDED", ...announcedFrom("RECORDED")];
}

function firstRecorded(): Status[] {
	const verdict = judgeReport({ source: "postback", isTest: false }, true, null);
	return verdict.kind === "apply" ? [statusAfter(verdict.move, null)] : [];
}

function announcedFrom(status: Status): Status[] {
	return (["expire", "approve", "reject", "reverse"] as const).flatMap((move) => {
		const verdict = judgeMove(status, move);
		const { announces } = moveRule(move);
		return verdict.kind === "apply" && announces !== null ? [statusAfter(move, status)] : [];
	});
}

function readPage(file: string): string {
	const page = PAGES.find((each) => each.file === file);
	assert.ok(page !== undefined, file);
	return page.text;
}

function allTokens(markdown: string): Token[] {
	const tokens: Token[] = [];
	walkTokens(lexer(markdown), (token) => void tokens.push(token));
	return tokens;
}

function plain(token: Token): string {
	return "tokens" in token && token.tokens !== undefined
		? token.tokens.map(plain).join("")
		: String("text" in token ? token["text"] : token.raw);
}

/** Returns the rows of the first table below a heading, without the header row. */
function tableOf(page: string, heading: string): string[][] {
	const tokens = lexer(page);
	const start = tokens.findIndex((token) => token.type === "heading" && plain(token) === heading);
	assert.notEqual(start, -1, heading);
	const rows = /^\|[- |:]+\|\n((?:\|.*\|\n?)+)/m.exec(
		tokens
			.slice(start)
			.map(({ raw }) => raw)
			.join(""),
	)?.[1];
	assert.ok(rows !== undefined, heading);
	return rows
		.trimEnd()
		.split("\n")
		.map((row) =>
			row
				.slice(1, -1)
				.split("|")
				.map((cell) => cell.trim()),
		);
}

function firstCells(page: string, heading: string): string[] {
	return tableOf(page, heading).map(([cell = ""]) => cell.replaceAll("`", ""));
}

function codeWords(text: string): string[] {
	return [...text.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
}
