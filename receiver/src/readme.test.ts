import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { sampleDelivery, sampleEvent, sampleSecret } from "./sample-delivery.ts";

const folder = new URL("..", import.meta.url);
const [, example = ""] = /```js\n(.*?)```/s.exec(readFileSync(new URL("README.md", folder), "utf8")) ?? [];

let child: ChildProcess;
let origin: string;
let output = "";

before(async () => {
	const env = { ...process.env, PORT: "0", SIGNING_SECRET: sampleSecret };
	child = spawn(process.execPath, ["--input-type=module", "--eval", example], {
		cwd: folder,
		env,
		stdio: ["ignore", "pipe", "ignore"],
	});
	child.stdout?.on("data", (chunk) => {
		output += chunk;
	});
	origin = `http://127.0.0.1:${await printed(/listening on (\d+)/)}`;
});

after(async () => {
	const exited = once(child, "exit");
	child.kill();
	await exited;
});

test("the README's receiver answers 204 and works once when a delivery comes twice", async () => {
	assert.equal(await post(sampleDelivery({ timestamp: nowSeconds() })), 204);
	assert.equal(await post(sampleDelivery({ timestamp: nowSeconds() })), 204);
	const approved = JSON.stringify({ ...sampleEvent, event: "conversion.approved", test: true });
	const eventName = "conversion.approved";
	assert.equal(await post(sampleDelivery({ timestamp: nowSeconds(), rawBody: approved, eventName })), 204);
	await printed(/conversion\.approved for order A-1001 \(test\)/);
	assert.equal(output.match(/conversion\.rejected for order A-1001\n/g)?.length, 1);
});

test("the README's receiver answers 401 to a stale or wrongly signed delivery", async () => {
	assert.equal(await post(sampleDelivery()), 401);
	assert.equal(await post(sampleDelivery({ timestamp: nowSeconds(), secret: "other" })), 401);
});

test("the README's receiver answers 400, 405 and 413 to what no delivery is", async () => {
	assert.equal(await post(sampleDelivery({ timestamp: nowSeconds(), rawBody: "{}" })), 400);
	assert.equal((await fetch(origin)).status, 405);
	assert.equal(await post(sampleDelivery({ timestamp: nowSeconds(), rawBody: " ".repeat(65_537) })), 413);
});

test("the README's receiver does not start without a secret", async () => {
	const env = { ...process.env, PORT: "0", SIGNING_SECRET: "" };
	const options = { cwd: folder, env, stdio: "ignore" } as const;
	const [code] = await once(
		spawn(process.execPath, ["--input-type=module", "--eval", example], options),
		"exit",
	);
	assert.equal(code, 1);
});

async function post({ path, headers, rawBody }: ReturnType<typeof sampleDelivery>): Promise<number> {
	const response = await fetch(origin + path, { method: "POST", headers, body: Buffer.from(rawBody) });
	return response.status;
}

async function printed(line: RegExp): Promise<string | undefined> {
	for (;;) {
		const found = line.exec(output);
		if (found) return found[1];
		assert.equal(child.exitCode, null, "the example stopped");
		assert.ok(child.stdout);
		await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
	}
}

function nowSeconds(): string {
	return String(Math.floor(Date.now() / 1000));
}
