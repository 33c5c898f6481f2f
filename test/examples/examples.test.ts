// Runs every example like a shop. Its receiver gets every case of section 4.3 and the shapes of the shared vectors,
// and both directions run against a live Ringback, for the default brand and for another one.

import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, before, describe, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { EXAMPLE_LANGUAGES, type ExampleLanguage } from "#core/web/examples.ts";
import vectorsJson from "../../receiver/vectors.json" with { type: "json" };
import { noteNotRun } from "../support/not-run.ts";
import { isLong } from "../support/proof.ts";
import { until } from "../support/until.ts";
import { makeCallback, send, sha256, sign } from "./callback.ts";
import { checkClicks } from "./click-cases.ts";
import { asItStands, type ExampleFolder, filledIn, openExamples } from "./example-folder.ts";
import { type LiveRingback, startRingback } from "./live-ringback.ts";
import { expectStatus, RECEIVER_CASES, sealed } from "./receiver-cases.ts";
import { checkSavedCallbacks } from "./saved-callbacks.ts";
import { checkSender } from "./sender-cases.ts";
import { checkSlowWork, checkStart } from "./start-cases.ts";
import { findTools, PYTHON } from "./toolchains.ts";

interface Vector {
	name: string;
	method: string;
	target: string;
	timestamp: string;
	nonce: string;
	secret: string;
	bodyBase64: string;
	signature: string;
}
const { vectors: VECTORS }: { vectors: readonly Vector[] } = vectorsJson;

/**
 * Order IDs with characters that need escaping in a shell, in JSON or in a URL. Each has at most 128
 * characters, as the service allows.
 */
const HOSTILE_ORDER_IDS = [
	`O'Brien & "Söhne" \\ 100% <a>`,
	"🛒-注文-Ü-\u{1F9FE}",
	"$(id) `id` %s \\n $HOME ;# {}",
];

/**
 * Languages to test. Short runs leave out most of them, because their compilers and interpreters take
 * minutes.
 */
const LANGUAGES = EXAMPLE_LANGUAGES.filter(({ value }) => isLong || value === "node" || value === "shell");
const API_REFERENCE = new URL("../../docs/api.md", import.meta.url);
const ran: string[] = [];
const missing: string[] = [];

test("the signer of these tests gives every signature of the vectors", () => {
	ok(VECTORS.length > 0);
	for (const { name, method, target, timestamp, nonce, secret, bodyBase64, signature } of VECTORS) {
		const digest = sha256(Buffer.from(bodyBase64, "base64"));
		equal(sign(secret, [method, target, timestamp, nonce, digest]), signature, name);
	}
});

// Two examples run at a time on two cores, because most of the time is spent starting compilers and
// interpreters.
describe("the examples of each language", { concurrency: 2 }, () => {
	let ringbacks: readonly { brand: string; ringback: LiveRingback }[] = [];
	before(async () => {
		const brands = ["Service", "Acme"];
		ringbacks = await Promise.all(
			brands.map(async (brand) => ({ brand, ringback: await startRingback(brand) })),
		);
	});
	after(async () => {
		await Promise.all(ringbacks.map(({ ringback }) => ringback.stop()));
	});

	for (const { value: language, label } of LANGUAGES) {
		test(label, async (t) => {
			const tools = await findTools(language);
			if ("missing" in tools) {
				missing.push(tools.missing);
				// If the language is not installed, nothing can be tested.
				t.skip(tools.missing);
				return;
			}
			const examples = await openExamples(t, language, asItStands);
			if (language === "shell") await checkSavedCallbacks(t, examples);
			else {
				await checkReceiver(t, examples);
				await checkStart(t, examples);
				await checkSlowWork(t, examples);
			}
			await checkSender(t, examples);
			await checkClicks(t, examples);
			for (const { brand, ringback } of ringbacks) {
				await t.test(`sender and receiver work with a live Ringback of the brand ${brand}`, (t) =>
					checkLive(t, language, brand, ringback, examples),
				);
			}
			ran.push(`${language} ${tools.version}`);
		});
	}

	test("the Python of the API reference reports, refunds, decides and reads page after page", async (t) => {
		const tools = await findTools("python");
		if ("missing" in tools) {
			noteNotRun(`the Python of the API reference: ${tools.missing}`);
			// If the language is not installed, nothing can be tested.
			t.skip(tools.missing);
			return;
		}
		const [, shown = ""] = /```python\n(.*?)```/s.exec(readFileSync(API_REFERENCE, "utf8")) ?? [];
		// One conversion on a page, so that the cursor is used.
		const program = shown.replace('"limit": 200', '"limit": 1');
		notEqual(program, shown);
		const ringback = ringbacks[0]?.ringback;
		ok(ringback !== undefined);
		const { key, secret } = await ringback.openProgramme();
		const env = {
			RINGBACK_URL: ringback.url,
			RINGBACK_API_KEY: key,
			RINGBACK_SIGNING_SECRET: `${secret},the-secret-of-before`,
		};
		const twoOrders = `${program}\n${program.replaceAll("1001", "1002")}`;
		const { stdout } = await promisify(execFile)(PYTHON, ["-c", twoOrders], { env });
		const lines = stdout.trimEnd().split("\n");
		deepEqual(
			lines
				.filter((line) => line.startsWith("("))
				.map((line) => /\((\d+), .*?'outcome': '(\w+)'/.exec(line)?.slice(1)),
			[1001, 1002].flatMap(() => [
				["201", "RECORDED"],
				["200", "REFUNDED"],
				["200", "APPROVED"],
				["200", "REVERSED"],
			]),
		);
		deepEqual(
			lines.filter((line) => line.startsWith("100")),
			["1001 REVERSED 7.99", "1001 REVERSED 7.99", "1002 REVERSED 7.99"],
			"the second run lists both, on two pages",
		);
	});
});

test("every example was run or is reported as not run", (t) => {
	t.diagnostic(`examples run: ${ran.join(", ")}; not run: ${missing.join(", ") || "none"}`);
	equal(ran.length + missing.length, LANGUAGES.length, "one failed before it came to its end");
	for (const reason of missing) noteNotRun(`examples in ${reason}`);
	// If all tools must be installed, a missing one is a defect.
	if (process.env["RINGBACK_EXAMPLES"] === "all") deepEqual(missing, []);
});

async function checkReceiver(t: TestContext, examples: ExampleFolder): Promise<void> {
	for (const secret of new Set(VECTORS.map((vector) => vector.secret))) {
		const receiver = await examples.startReceiver(secret);
		const at = { secret, receiver, folder: examples };
		if (!receiver.process.isRunning && secret.trim() !== secret) {
			// The package treats white space in a secret as a copying mistake, and says so instead of starting.
			match(receiver.process.stderr, /white space/);
			continue;
		}
		await t.test(
			`the receiver accepts callbacks that are signed as in the vectors, with the secret ${JSON.stringify(secret).slice(0, 30)}`,
			async () => {
				for (const { name, method, target, bodyBase64 } of VECTORS.filter(
					(vector) => vector.secret === secret,
				)) {
					if (method !== "POST") continue;
					const body = Buffer.from(bodyBase64, "base64");
					// The vectors are outdated by now, so the same path, body and secret are signed again.
					const answered = await send(receiver.port, makeCallback({ secret, target, body }));
					equal(answered?.status, isEvent(body) ? 204 : 400, name);
					equal(
						(await send(receiver.port, makeCallback({ secret: "other", target, body })))?.status,
						401,
						name,
					);
				}
			},
		);
		if (secret !== VECTORS[0]?.secret) continue;
		for (const [title, check] of Object.entries(RECEIVER_CASES)) await t.test(title, () => check(at));
		await t.test("the receiver still runs after all of these requests", async () => {
			ok(receiver.process.isRunning);
			await expectStatus(at, sealed(at), 204);
		});
	}
}

async function checkLive(
	t: TestContext,
	language: ExampleLanguage,
	brand: string,
	ringback: LiveRingback,
	asInFiles: ExampleFolder,
): Promise<void> {
	const isDefault = brand === "Service";
	const examples = isDefault
		? asInFiles
		: await openExamples(t, language, filledIn({ publicUrl: ringback.url, brand }));
	const programme = await ringback.openProgramme();
	const settings = {
		RINGBACK_API_KEY: programme.key,
		// As during the replacement of a secret: the first one signs.
		RINGBACK_SIGNING_SECRET: `${programme.secret},the-secret-of-before`,
		// Examples that are filled in for a brand already contain the address.
		...(isDefault ? { RINGBACK_URL: ringback.url } : {}),
	};
	const target = "/postback?shop=1&x=%C3%9C";
	const receiver = language === "shell" ? null : await examples.startReceiver(programme.secret);
	const passed = receiver === null ? [] : await programme.deliverTo(t, receiver.port, target);

	const orderIds = isDefault ? HOSTILE_ORDER_IDS : HOSTILE_ORDER_IDS.slice(0, 1);
	for (const orderId of orderIds) {
		const ended = await examples.runSender([orderId, "129.90"], settings);
		equal(ended.code, 0, ended.stdout + ended.stderr);
		match(ended.stdout, /RECORDED/);
	}
	deepEqual(await programme.orderIds(), orderIds, "order ids arrive unchanged");
	const again = await examples.runSender([orderIds[0] ?? "", "129.90", "a-click"], settings);
	equal(again.code, 0, again.stderr);
	match(again.stdout, /DUPLICATE/);
	match(again.stdout, /NOT_CREDITING/, "why nobody is credited");
	const wrong = await examples.runSender(["W-1", "1.00"], { ...settings, RINGBACK_SIGNING_SECRET: "wrong" });
	equal(wrong.code, 78, "a wrong secret is a wrong setting, and the sale is kept");
	match(wrong.stdout + wrong.stderr, /bad_signature/);
	deepEqual(await programme.orderIds(), orderIds, "what is refused is not recorded");

	if (receiver === null) return;
	const isDelivered = async () => (await programme.deliveryStates()).every((state) => state === "delivered");
	await until(isDelivered, () => `not all were delivered; ${receiver.process.stderr}`);
	const said = () => `${receiver.process.stdout}\n${receiver.process.stderr}`;
	for (const orderId of orderIds) await until(() => said().includes(` ${orderId} RECORDED`), said);
	const [conversionId = ""] = /cnv_\w+/.exec(Buffer.concat(passed).toString("utf8")) ?? [];
	equal(receiver.linesOf(conversionId).length, 1);
	await t.test("the receiver refuses a copy of a callback that Ringback sent", async () => {
		const [head = "", body = ""] = (passed[0] ?? Buffer.alloc(0)).toString("utf8").split("\r\n\r\n");
		ok(head.startsWith(`POST ${target} `), head);
		const [, ...lines] = head.split("\r\n");
		const named = lines.map((line) => line.split(/: */, 2)).filter(([name]) => /^X-/i.test(name ?? ""));
		const callback = { method: "POST", target, headers: Object.fromEntries(named), body: Buffer.from(body) };
		equal((await send(receiver.port, callback))?.status, 401);
		equal(receiver.linesOf(conversionId).length, 1);
	});
}

function isEvent(body: Buffer): boolean {
	try {
		return typeof JSON.parse(body.toString("utf8")).conversionId === "string";
	} catch {
		// A body that is not JSON is not an event.
		return false;
	}
}
