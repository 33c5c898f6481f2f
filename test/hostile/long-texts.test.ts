// Sends long texts that are expensive for careless code: in every field of every form, in every parameter of every page,
// and in every text of every call, at the size that is accepted. Each must cost little time of the processor, because a
// process that works on one request answers nobody else. Forms and pages are found on the site, and calls in the OpenAPI
// document, so that new ones are tested, too.
//
// The short form sends many repetitions in one text, and a few alone where texts are short. The long form sends each alone,
// too, with a good beginning and without.

import { equal, notEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { MAX_BATCH_BYTES } from "#core/api/order-call.ts";
import { MAX_BODY_BYTES } from "#core/api/read-request.ts";
import { openEveryPage } from "#core/web/every-page.test-support.ts";
import { MAX_FORM_BYTES, MAX_STRANGER_BYTES } from "#core/web/form-guards.ts";
import { SESSION_COOKIE, type Shown, type TestSite } from "#core/web/test-site.test-support.ts";
import {
	type Encode,
	expectCheap,
	listTo,
	mixtures,
	REPETITIONS,
	repeatTo,
} from "../support/hostile-texts.ts";
import { isLong } from "../support/proof.ts";
import { type CallText, type FoundCall, findCalls, headerText } from "./found-calls.ts";
import { type FoundField, type FoundForm, findForms } from "./found-forms.ts";

/** Limits of the time in milliseconds. Ordinary texts of the same length take a tenth to a half of it. */
const FORM_LIMIT_MS = 80;
const CALL_LIMIT_MS = 40;
/** Size of the other fields of a call. */
const FRAME_BYTES = 4 * 1024;
/** Maximum length of a repetition that is alone in a field of a form. Quadratic time for it takes seconds. */
const ALONE_BYTES = 128 * 1024;
/** Length of a run of one repetition in the short form. Quadratic time for it exceeds the limits. */
const FORM_RUN_BYTES = 15 * 1024;
const CALL_RUN_BYTES = 12 * 1024;
/** Maximum size of an address or a header. Node.js accepts 16 KB of all of them together. */
const HEADER_BYTES = 14 * 1024;
/** Memory in use at which garbage is collected, and the most that the process may have taken at the end. */
const COLLECT_BYTES = 150_000_000;
const MAX_MEMORY_BYTES = 600_000_000;
/** Maximum number of choices of a field with which every text of the form is tried. */
const MAX_CHOICES = isLong ? 20 : 2;

/**
 * Largest share of the forms that may be refused although all their values are good, because something else is missing, such
 * as a page that was opened before. If it is exceeded, add values to `VALUES` of found-forms.ts.
 */
const MAX_REFUSED = 0.2;

test("no long text keeps the processor busy", async (t) => {
	const service = await openEveryPage(t);
	const { site } = service.shop;
	const calls = await findCalls(service);
	const owner = await service.visit("owner");
	const stranger = await service.visit("nobody");
	const { forms, pages, headers } = await findForms(t, service);
	let turn = 0;

	await t.test("in a form", async () => {
		const refused: string[] = [];
		const seen = new Set<string>();
		for (const form of forms) {
			const { path, access } = form.route;
			const fields = [...form.fields];
			const hasText = fields.some(([, { options }]) => options === null);
			if (hasText && (await form.send()).status >= 400) refused.push(path);
			const bytes = (access === "anyone" ? MAX_STRANGER_BYTES : MAX_FORM_BYTES) - frameBytes(form);
			// Two forms with the same fields are read by the same code.
			const kind = JSON.stringify([...form.fields.keys()].sort());
			for (const [name, field] of withoutAlike(fields)) {
				turn++;
				for (const [index, choice] of choicesOf(form, name, field).entries()) {
					const where = `${path}: ${name}, ${JSON.stringify(choice)}`;
					const isAlone = isLong && index === 0 && !seen.has(kind);
					for (const text of textsOf(field, bytes, turn, seen.has(kind), isAlone)) {
						await expectAnswer(where, text, FORM_LIMIT_MS, async (sent) => {
							const answer = await form.send({ ...choice, [name]: sent });
							notEqual(answer.status, 413, where);
							return answer;
						});
					}
					boundMemory(site);
				}
			}
			seen.add(kind);
		}
		ok(refused.length < MAX_REFUSED * forms.length, `refused with good values: ${refused}`);
	});

	await t.test("in a parameter of a page", async () => {
		for (const { route, parameters, open } of pages) {
			for (const name of parameters) {
				for (const text of singles(3, HEADER_BYTES, turn++, inAddress)) {
					await expectAnswer(`${route.path}?${name}`, text, CALL_LIMIT_MS, (sent) =>
						open(String(new URLSearchParams([[name, sent]]))),
					);
				}
			}
		}
	});

	await t.test("in a call", async () => {
		const seen = new Set<string>();
		for (const call of calls) {
			for (const text of call.texts) {
				const kind = JSON.stringify([text.in, text.keys.at(-1), text.schema]);
				for (const value of await valuesOf(call, text, turn++, seen.has(kind))) {
					const where = `${call.name}: ${text.keys.join(".")}`;
					await expectAnswer(where, value, CALL_LIMIT_MS, (sent) => call.send({ text, value: sent }));
				}
				seen.add(kind);
			}
			boundMemory(site);
		}
	});

	await t.test("in a header", async () => {
		const kinds = ["GET /v1/programme", "GET /v1/network/programmes", "GET /pixel/{programId}.gif"];
		const called = calls.filter(({ name }) => kinds.includes(name));
		equal(called.length, kinds.length);
		ok(headers.has("accept-language") && headers.has("authorization") && headers.has("x-service-nonce"));
		for (const name of headers) {
			for (const value of singles(3, HEADER_BYTES, turn++)) {
				const text = { in: "header" as const, keys: [name], schema: {} };
				await expectAnswer(name, value, CALL_LIMIT_MS, async (sent) => {
					for (const call of called) await call.send({ text, value: sent });
					await stranger.open("/c/filled", { [name]: headerText(sent) });
					await owner.open("/account", { [name]: headerText(sent) });
					return stranger.open("/sign-in", { [name]: headerText(sent) });
				});
			}
		}
		for (const [index, value] of singles(REPETITIONS.length, HEADER_BYTES, 0).entries()) {
			await expectAnswer("a cookie", value, CALL_LIMIT_MS, (sent) => {
				stranger.cookies.set(index % 2 === 0 ? SESSION_COOKIE : "any", headerText(sent));
				return stranger.open("/sign-in");
			});
		}
	});

	await t.test("in the form of a body", async () => {
		for (const [type, bodies] of Object.entries(BODIES)) {
			for (const body of bodies) {
				const init = { method: "POST", headers: { "content-type": type, "sec-fetch-site": "same-origin" } };
				await expectAnswer(type, body, 2 * FORM_LIMIT_MS, (sent) =>
					owner.send("/account/settings", { ...init, body: sent }),
				);
			}
		}
		for (const call of calls.filter(({ name }) => /^POST .*(?:decisions.batch|partner.links)$/.test(name))) {
			for (const part of JSON_PARTS) {
				const body = repeatTo((call.name.endsWith("batch") ? MAX_BATCH_BYTES : MAX_BODY_BYTES) - 1_024, part);
				for (const whole of [body, `[${body}0]`, `{"items":[${body}0]}`]) {
					await expectAnswer(call.name, whole, FORM_LIMIT_MS, (sent) => call.send({ body: sent }));
				}
			}
		}
	});
	const { maxRSS } = process.resourceUsage();
	ok(maxRSS * 1_024 < MAX_MEMORY_BYTES, `the test took ${maxRSS} KB of memory`);
});

const PART = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n';
const MULTIPART = [
	"--b\r\n",
	"--b",
	"\r\n",
	"\r\n--b",
	PART,
	`${PART.slice(0, -4)}a: b\r\n`,
	"; a=b",
	'"',
	'\\"',
];
/** Bodies of forms with very many small parts. */
const BODIES: Readonly<Record<string, readonly string[]>> = {
	"application/x-www-form-urlencoded": ["&", "a&", "a=&", "=", "a=1&", "%", "%41", "+", "a[]=&"].map((part) =>
		repeatTo(MAX_FORM_BYTES, part),
	),
	"multipart/form-data; boundary=b": MULTIPART.flatMap((part) => {
		const many = repeatTo(MAX_FORM_BYTES - 1_024, part);
		return [
			many,
			`${PART.slice(0, -6)}${many}\r\n--b--\r\n`,
			PART.repeat(900) + many.slice(PART.length * 900),
		];
	}),
};
/** Beginnings and pieces of JSON. */
const JSON_PARTS = [
	"[",
	'{"a":',
	"[],",
	"{},",
	'"",',
	"0,",
	"1",
	"1e9,",
	" ",
	'"\\u0061",',
	'{"a":1},',
	"null,",
];

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** Keeps the memory of this process bounded. The runtime does not count the long bodies of requests as its own. */
function boundMemory(site: TestSite): void {
	site.mailbox.length = 0;
	site.log.lines.length = 0;
	const { heapUsed, arrayBuffers } = process.memoryUsage();
	if (heapUsed + arrayBuffers > COLLECT_BYTES) collectGarbage();
}

/** Sends a text, and fails if it is too expensive, or if the answer is a failure of the service. */
async function expectAnswer(
	where: string,
	text: string,
	limitMs: number,
	send: (text: string) => Promise<Shown>,
): Promise<void> {
	const what = `${where} with ${JSON.stringify(text.slice(0, 30))}…`;
	const work = async () => {
		const { status } = await send(text);
		// 503 is the answer of a page that waits for another machine, which does not exist here.
		ok(status < 500 || status === 503, `${what} was answered with ${status}`);
	};
	await expectCheap(what, limitMs, work, () => send(repeatTo(Buffer.byteLength(text), "ab ")));
}

/** Returns how much of a form its other fields and the frame of multipart may take. */
function frameBytes({ fields }: FoundForm): number {
	const values = [...fields.values()].map(({ value }) => 200 + Buffer.byteLength(value));
	return values.reduce((sum, bytes) => sum + bytes, 1_024);
}

/** Leaves out fields whose names differ only in a currency. */
function withoutAlike(fields: readonly [string, FoundField][]): [string, FoundField][] {
	return [...new Map(fields.map((field) => [field[0].replace(/[A-Z]{3}$/, ""), field])).values()];
}

/** Returns the choices with which each text of a form is sent, because a choice may decide how the text is read. */
function choicesOf({ fields }: FoundForm, name: string, { options }: FoundField): Record<string, string>[] {
	const others = options === null ? [...fields].filter(([other]) => other !== name) : [];
	const choices = others.flatMap(([other, { value, options: values }]) =>
		values === null || values.length > MAX_CHOICES
			? []
			: values.filter((choice) => choice !== value).map((choice) => ({ [other]: choice })),
	);
	return [{}, ...choices];
}

/** Separators of lists in a form. */
const SEPARATORS = ["\n", ",", " "];

/** Yields texts for a field. If `isAlone`, each repetition is also sent alone, with a good beginning and without. */
function* textsOf(
	field: FoundField,
	bytes: number,
	turn: number,
	isKnown: boolean,
	isAlone: boolean,
): Generator<string> {
	const { value, options, mayBeList = isLong } = field;
	const separators = options === null ? SEPARATORS : SEPARATORS.slice(turn % 3, 1 + (turn % 3));
	if (mayBeList && !isKnown) yield* separators.map((separator) => listTo(bytes, separator));
	const isUrl = value.startsWith("https://");
	const beginning = isUrl ? `${value}?a=` : value;
	if (isAlone && options === null) {
		for (const part of REPETITIONS) {
			const text = repeatTo(Math.min(bytes, ALONE_BYTES), part);
			yield text;
			yield `${beginning}${text}!`;
		}
	}
	const begin = (text: string, index: number) => (isUrl || index % 2 === turn % 2 ? beginning + text : text);
	const runs = Math.floor(bytes / FORM_RUN_BYTES);
	const isShort = runs < 8;
	const texts = (isShort ? singles(8, bytes, turn) : mixtures(bytes, runs, turn % 4)).map(begin);
	const one = turn % texts.length;
	yield* isShort || (options === null && !isKnown) ? texts : texts.slice(one, one + 1);
}

/**
 * Returns texts of one repetition each: all, or a few that `turn` chooses. Each ends with something else, because most
 * expensive expressions search in vain for the end of the text.
 */
function singles(count: number, bytes: number, turn: number, encode?: Encode): string[] {
	const first = (turn * count) % REPETITIONS.length;
	const chosen = isLong ? REPETITIONS : [...REPETITIONS, ...REPETITIONS].slice(first, first + count);
	return chosen.map((part) => `${repeatTo(bytes - 1, part, encode)}!`);
}

const inAddress: Encode = (text) => encodeURIComponent(text.toWellFormed());
const inJson: Encode = (text) => JSON.stringify(text).slice(1, -1);

/** Returns the values for a text of a call. `isKnown` says that the same text of another call got all of them. */
async function valuesOf(
	call: FoundCall,
	text: CallText,
	turn: number,
	isKnown: boolean,
): Promise<readonly string[]> {
	if (text.in !== "body") return singles(isKnown ? 1 : 4, HEADER_BYTES, turn, inAddress);
	if ((isKnown || text.schema.enum !== undefined) && !isLong)
		return singles(1, MAX_BODY_BYTES - FRAME_BYTES, turn, inJson);
	const { status } = await call.send({ text, value: "a".repeat(MAX_BODY_BYTES) });
	const bytes = (status === 413 ? MAX_BODY_BYTES : MAX_BATCH_BYTES) - FRAME_BYTES;
	return isLong
		? singles(1, bytes, turn, inJson)
		: mixtures(bytes, Math.floor(bytes / CALL_RUN_BYTES), turn % 4, inJson);
}
