// Tests the receiver guide as a file. Its statements match the code, and its links lead to existing files and
// headings.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { verifyPostback } from "@ringback/receiver";
import { outranks } from "@ringback/receiver/durable";
import { lexer, type Token, walkTokens } from "marked";
import { EXAMPLE_SECRET } from "#core/api/openapi/examples.ts";
import { MAX_BATCH_BYTES, MAX_ITEMS } from "#core/api/order-call.ts";
import { RENEW_EVERY_MS } from "#core/callbacks/slots.ts";
import {
	EVENT_TYPES,
	judgeMove,
	judgeReport,
	moveRule,
	REASONS,
	type Status,
	statusAfter,
} from "#core/domain/conversion.ts";
import { bodySentAt, composeEvent } from "#core/domain/event.ts";
import { EVENT_NAMES } from "#core/domain/event-name.ts";
import { MAIL_INTERVAL_MS } from "#core/domain/notice.ts";
import { parsePostbackUrl } from "#core/domain/postback-url.ts";
import { MAX_ATTEMPTS, RETRY_DELAYS_MS } from "#core/domain/retry.ts";
import { REPLACED_SECRET_GRACE_MS } from "#core/domain/secret-life.ts";
import { headerNames, TIMESTAMP_TOLERANCE_SECONDS } from "#core/domain/signature.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "#core/domain/time.ts";
import { DEFAULT_PARKED_DAYS } from "#core/programmes/programme-terms.ts";
import { SILENT_MS } from "#core/store/queries/queue.ts";
import { EXAMPLE_LANGUAGES } from "#core/web/examples.ts";
import { GENERATED_IN, SAMPLE_TARGET, sampleCallback, writeGenerated } from "../../docs/generated.ts";
import { headingId } from "../../docs/markdown.ts";
import { PIXEL_RATES } from "../../src/concurrency/admission.ts";
import { readConfig } from "../../src/config.ts";
import { DEADLINE_MS } from "../../src/outside/https-transport.ts";

const GUIDE_FILE = new URL("../../docs/receiver-guide.md", import.meta.url);
const GUIDE = readFileSync(GUIDE_FILE, "utf8");
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

test("the build replaces only the text between its comments, and refuses an unknown name", () => {
	const built = writeGenerated("before\n<!-- generated: retry-calendar -->\nold\n<!-- /generated -->\nafter");
	assert.match(
		built,
		/^before\n<!-- generated: retry-calendar -->\n\| Attempt .*\n<!-- \/generated -->\nafter$/s,
	);
	assert.doesNotMatch(built, /old/);
	assert.throws(() => writeGenerated("<!-- generated: nothing -->\n<!-- /generated -->"), /the part nothing/);
});

test("the guide links to the receiver and the sender of every language once", () => {
	const linked = [...GUIDE.matchAll(/\[([^\]]+)\]\(\.\.\/(examples\/[^)]+)\)/g)].map(([, ...link]) => link);
	const wanted = (["receiver", "sender"] as const).flatMap((role) =>
		EXAMPLE_LANGUAGES.map((language) => [language.label, `examples/${language.value}/${language[role]}`]),
	);
	assert.deepEqual(linked, wanted);
});

describe("links in the guide", () => {
	const tokens = allTokens(GUIDE);
	const ids = new Set(tokens.flatMap((token) => (token.type === "heading" ? [headingId(plain(token))] : [])));
	const hrefs = tokens.flatMap((token) => (token.type === "link" ? [String(token["href"])] : []));

	test("no two headings of the guide have the same id", () => {
		assert.equal(ids.size, tokens.filter(({ type }) => type === "heading").length);
	});

	test("every link to a part of the guide leads to one of its headings", () => {
		const inside = hrefs.filter((href) => href.startsWith("#"));
		assert.ok(inside.length >= 4);
		assert.deepEqual(
			inside.filter((href) => !ids.has(href.slice(1))),
			[],
		);
	});

	test("every link from the guide to a file leads to an existing file", () => {
		const files = hrefs.filter((href) => !href.startsWith("#") && !href.startsWith("https://"));
		assert.ok(files.length > 0);
		assert.deepEqual(
			files.filter((href) => !existsSync(new URL(href.replace(/#.*$/, ""), GUIDE_FILE))),
			[],
		);
	});

	test("the guide has no markup except the build's comments", () => {
		const markup = tokens.filter((token) => token.type === "html").map(({ raw }) => raw.trim());
		assert.deepEqual(
			markup.filter(
				(raw) => !/^<!-- (?:\/(?:generated|examples)|generated: [a-z-]+|examples: [a-z]+) -->$/.test(raw),
			),
			[],
		);
		assert.doesNotMatch(
			GUIDE.replace(/^```html\n.*?^```$/gms, ""),
			/&[a-z]+;|&#\d+;/,
			"the page would show a character reference as it is written",
		);
	});
});

describe("the sample request of the guide", () => {
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

	test("the sample request is in the guide's text, with the secret that the text names", () => {
		assert.ok(GUIDE.includes(SAMPLE.body));
		assert.ok(GUIDE.includes(`\`${EXAMPLE_SECRET}\``));
	});
});

describe("the guide's description of a callback", () => {
	test("the table of headers has every header that is sent", () => {
		const named = firstCells("Headers");
		const sent = SAMPLE.headers.map(([name]) => name);
		assert.deepEqual(new Set(named), new Set(sent.filter((name) => name !== "Host")));
		for (const name of Object.values(headerNames("Service"))) assert.ok(named.includes(name));
	});

	test("the table of fields has the 14 of the body, in their order", () => {
		assert.deepEqual(firstCells("Body"), Object.keys(JSON.parse(SAMPLE.body)));
		assert.equal(firstCells("Body").length, 14);
	});

	test("the guide lists exactly the events, event types, statuses and reasons that are sent", () => {
		assert.deepEqual(codeWords(cellOf("Body", "event")), [...EVENT_NAMES]);
		assert.deepEqual(codeWords(cellOf("Body", "eventType")), [...EVENT_TYPES]);
		const statuses = codeWords(cellOf("Body", "status"));
		assert.deepEqual(new Set(statuses), new Set(statusesOnTheWire()));
		const reasons = /A reason is one of (.*?)\. /.exec(GUIDE)?.[1] ?? "";
		assert.deepEqual(codeWords(reasons), [...REASONS]);
	});

	test("the table of moves has every move that is announced, and no other", () => {
		const rows = tableOf("Repeats and order").map(([from = "", to = ""]) => [
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

test("the ranks of statuses in the guide are those of the library, and every status has one", () => {
	const ranked = tableOf("8. Use an event only if its status ranks higher").map(([, statuses = ""]) =>
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

describe("the limits in the guide", () => {
	const limits = new Map(tableOf("Reference").map(([name = "", value = ""]) => [name, value]));
	const read = readConfig({});
	assert.ok(read.ok);
	const { maxInFlightPerProgramme, retentionDays } = read.config;
	const spanMinutes = RETRY_DELAYS_MS.reduce((sum, delayMs) => sum + delayMs, 0) / MINUTE_MS;
	const expected: ReadonlyMap<string, string> = new Map([
		[
			"Time for your answer",
			`${DEADLINE_MS / SECOND_MS} seconds, from the name look-up to the answer's headers`,
		],
		["Timestamp, away from your clock", `${TIMESTAMP_TOLERANCE_SECONDS} seconds either way`],
		[
			"Nonce memory",
			`until ${TIMESTAMP_TOLERANCE_SECONDS} seconds after the timestamp, at most ${(2 * TIMESTAMP_TOLERANCE_SECONDS) / 60} minutes`,
		],
		["Attempts", String(MAX_ATTEMPTS)],
		["From the first attempt to the last", `${Math.floor(spanMinutes / 60)} h ${spanMinutes % 60} min`],
		["Sales or decisions in one call", `${MAX_ITEMS}, in a body of ${MAX_BATCH_BYTES / 1_024} KiB`],
		[
			"Requests under way to one shop",
			`${maxInFlightPerProgramme}, unless the network has set another number`,
		],
		["Size of a callback's body", "under 2 KB"],
		["Length of a Postback URL", "2,048 characters"],
		["Mails about failures", `one in ${MAIL_INTERVAL_MS / MINUTE_MS} minutes for a programme`],
		["A replaced secret, for your own requests", `good for ${REPLACED_SECRET_GRACE_MS / HOUR_MS} hours more`],
		[
			"Callbacks and attempts on the page",
			`${retentionDays} days, unless the network has set another number`,
		],
	]);

	test("the limits in the guide are those of the code", () => {
		assert.deepEqual(limits, expected);
	});

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

	test("numbers that appear only in sentences of the guide are those of the code", () => {
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
			const found = [...(pattern.exec(GUIDE) ?? [])].slice(1).map((text) => Number(text.replaceAll(",", "")));
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
function tableOf(heading: string): string[][] {
	const tokens = lexer(GUIDE);
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

function firstCells(heading: string): string[] {
	return tableOf(heading).map(([cell = ""]) => cell.replaceAll("`", ""));
}

function cellOf(heading: string, field: string): string {
	return tableOf(heading).find(([cell]) => cell === `\`${field}\``)?.[2] ?? "";
}

function codeWords(text: string): string[] {
	return [...text.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
}
