// Every snippet is run as a shop would run it: signing against the service itself over a socket, verifying against
// callbacks that the engine's own code has signed.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { openTestShop, type TestShop } from "../../api/test-shop.test-support.ts";
import { createApp } from "../../app.ts";
import { createPreparer } from "../../callbacks/attempt.ts";
import { signingKey } from "../../domain/signature.ts";
import { realClock } from "../../outside/clock.ts";
import { listen } from "../../outside/http-server.ts";
import { signSnippet } from "./sign-snippets.ts";
import {
	API_KEY_VARIABLE,
	LANGUAGES,
	type Language,
	pixelSnippet,
	SECRET_VARIABLE,
} from "./snippet-values.ts";
import { verifySnippet } from "./verify-snippets.ts";

const run = promisify(execFile);
/** Inside the project, so that Node finds @ringback/receiver as it would in a shop's. */
const FOLDER = join(import.meta.dirname, "..", "..", "..", "node_modules", ".snippet-");

const COMMANDS: Readonly<Record<Language, { file: string; command: string; needs: readonly string[] }>> = {
	node: { file: "snippet.mjs", command: process.execPath, needs: [] },
	php: { file: "snippet.php", command: "php", needs: ["php"] },
	python: { file: "snippet.py", command: "python3", needs: ["python3"] },
	curl: { file: "snippet.sh", command: "sh", needs: ["curl", "openssl"] },
};

for (const brand of ["Service", "Acme"]) {
	describe(`sign a postback to us, brand ${brand}`, () => {
		for (const { value: language } of LANGUAGES) {
			test(`${language} is accepted by the service`, async (t) => {
				if (await isMissing(t, language)) return;
				const shop = await openTestShop(t, { change: () => ({ brand, clock: realClock }) });
				const url = await serve(t, shop);
				const code = signSnippet(language, { publicUrl: url, brand, programId: shop.programme.public_id });
				const orderId = `${language}-1001`;
				const { stdout } = await runSnippet(t, language, code, [orderId, "49.90"], shop);
				match(stdout, /201/, stdout);
				match(stdout, /"outcome":"RECORDED"/);
				const calls = await shop.inbound();
				deepEqual(
					calls.map((call) => [call.outcome, call.order_id]),
					[["RECORDED", orderId]],
				);
				const wrong = await runSnippet(t, language, code, [`${orderId}-2`, "49.90"], shop, "rbs_wrong");
				match(wrong.stdout, /401/);
			});
		}
	});

	describe(`verify a callback from us, brand ${brand}`, () => {
		for (const language of ["node", "php", "python"] as const) {
			test(`${language} answers 204 to ours and 401 to any other`, async (t) => {
				if (await isMissing(t, language)) return;
				const secret = "rbs_0123456789abcdef";
				const port = await freePort();
				await startReceiver(t, language, verifySnippet(language, { brand }), secret, port);
				const send = (
					made: ReturnType<typeof callback>,
					change: Partial<{ path: string; body: string }> = {},
				) =>
					post(
						`http://127.0.0.1:${port}${change.path ?? "/postback?shop=1"}`,
						made.headers,
						change.body ?? made.body,
					);
				equal(await send(callback(brand, secret)), 204);
				equal(await send(callback(brand, "rbs_wrong")), 401, "another secret");
				equal(await send(callback(brand, secret), { path: "/postback" }), 401, "another query");
				const made = callback(brand, secret);
				equal(await send(made, { body: made.body.replace("APPROVED", "REJECTED") }), 401, "another body");
				equal(await send(callback(brand, secret, -301_000)), 401, "too old");
			});
		}

		test("the shell script tells a good one from a wrong one", async (t) => {
			if (await isMissing(t, "curl")) return;
			const secret = "rbs_0123456789abcdef";
			const script = snippetFile(t, "curl", verifySnippet("curl", { brand }));
			const check = (made: ReturnType<typeof callback>) => {
				const header = (name: string) => made.headers[`X-${brand}-${name}`] ?? "";
				const args = [script, header("Timestamp"), header("Nonce"), header("Signature"), "/postback?shop=1"];
				return runWithInput("sh", args, made.body, { [SECRET_VARIABLE]: secret });
			};
			equal((await check(callback(brand, secret))).trim(), "good");
			match(await check(callback(brand, "rbs_wrong")), /wrong signature/);
			match(await check(callback(brand, secret, -301_000)), /300 seconds/);
		});
	});
}

test("no snippet holds anything but the names of its secrets", () => {
	const values = { publicUrl: "https://ringback.example", brand: "Service", programId: "prg_1" };
	for (const { value: language } of LANGUAGES) {
		const texts = [signSnippet(language, values), verifySnippet(language, values)];
		for (const text of texts) ok(text.includes(SECRET_VARIABLE) && !/rb[ks]_/.test(text), language);
		ok(texts[0]?.includes(API_KEY_VARIABLE) && texts[0].includes(values.publicUrl), language);
	}
	match(pixelSnippet(values), /https:\/\/ringback\.example\/pixel\/prg_1\.gif/);
});

async function isMissing(t: TestContext, language: Language): Promise<boolean> {
	for (const name of COMMANDS[language].needs) {
		try {
			await run("which", [name]);
		} catch {
			// The machine has no such interpreter: nothing of ours could be wrong, or right.
			t.skip(`${name} is not installed here`);
			return true;
		}
	}
	return false;
}

async function serve(t: TestContext, shop: TestShop): Promise<string> {
	const app = createApp(shop.deps);
	const server = await listen((request, env) => app.fetch(request, env), "127.0.0.1", 0);
	t.after(() => server.close());
	return server.url;
}

function snippetFile(t: TestContext, language: Language, code: string): string {
	const folder = mkdtempSync(FOLDER);
	t.after(() => rmSync(folder, { recursive: true }));
	const path = join(folder, COMMANDS[language].file);
	writeFileSync(path, code);
	return path;
}

async function runSnippet(
	t: TestContext,
	language: Language,
	code: string,
	args: readonly string[],
	{ credentials }: TestShop,
	secret = credentials.secret,
): Promise<{ stdout: string }> {
	const env = { ...process.env, [API_KEY_VARIABLE]: credentials.key, [SECRET_VARIABLE]: secret };
	return run(COMMANDS[language].command, [snippetFile(t, language, code), ...args], { env });
}

/** As the engine prepares it. */
function callback(brand: string, secret: string, offsetMs = 0) {
	const prepare = createPreparer(brand, {
		bytes: (count) => new Uint8Array(count),
		hex: (count) => "0f".repeat(count),
	});
	const event = {
		event: "conversion.approved",
		conversionId: "cnv_1",
		orderId: "Ä-1",
		programId: "prg_1",
		status: "APPROVED",
		eventType: "SALE",
		basketValue: "10.00",
		commission: "1.00",
		networkFee: "0.10",
		currency: "EUR",
		reason: null,
		test: true,
		occurredAt: "2026-03-01T12:00:00.000Z",
	};
	const delivery = {
		...{ id: 1, programmeId: 1, claim: 1, run: 1, counted: 0, seq: 0, claimedAtMs: 0, endpointEpoch: 0 },
		eventName: "conversion.approved" as const,
		eventBody: JSON.stringify(event),
	};
	const target = {
		url: "https://shop.example/postback?shop=1",
		target: "/postback?shop=1",
		endpointId: 1,
		key: signingKey(secret),
	};
	const { request } = prepare(delivery, target, realClock.nowMs() + offsetMs);
	const headers: Record<string, string> = {};
	for (let n = 0; n < request.headers.length; n += 2)
		headers[request.headers[n] ?? ""] = request.headers[n + 1] ?? "";
	return { headers, body: request.body };
}

async function startReceiver(
	t: TestContext,
	language: Language,
	code: string,
	secret: string,
	port: number,
): Promise<void> {
	const env = { ...process.env, [SECRET_VARIABLE]: secret, PORT: String(port) };
	const file = snippetFile(t, language, code);
	const args = language === "php" ? ["-S", `127.0.0.1:${port}`, file] : [file];
	const child: ChildProcess = spawn(COMMANDS[language].command, args, { env, stdio: "ignore" });
	const ended = new Promise((resolve) => child.once("exit", resolve));
	t.after(async () => {
		child.kill();
		await ended;
	});
	for (let tries = 0; tries < 200; tries++) {
		try {
			await post(`http://127.0.0.1:${port}/`, {}, "{}");
			return;
		} catch {
			await new Promise((resolve) => realClock.after(50, () => resolve(undefined)));
		}
	}
	throw new Error(`the receiver in ${language} did not start`);
}

async function post(url: string, headers: Record<string, string>, body: string): Promise<number> {
	const response = await fetch(url, { method: "POST", headers: { ...headers, connection: "close" }, body });
	await response.arrayBuffer();
	return response.status;
}

function freePort(): Promise<number> {
	return new Promise((resolve, reject) => {
		const server = createServer().once("error", reject);
		server.listen(0, "127.0.0.1", () => {
			const address = server.address();
			server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
		});
	});
}

function runWithInput(
	command: string,
	args: readonly string[],
	input: string,
	env: Record<string, string>,
): Promise<string> {
	return new Promise((resolve, reject) => {
		const child = execFile(command, args, { env: { ...process.env, ...env } }, (error, stdout) =>
			error !== null && error.code !== 1 ? reject(error) : resolve(stdout),
		);
		child.stdin?.end(input);
	});
}
