// Generates types from /openapi.json with openapi-typescript, as users of the APIs do, and uses them: a program that is
// typed by them must compile and work, and one with a mistake must not compile.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describeApi } from "#core/api/openapi/document.ts";
import { API } from "../../src/site-modules.ts";
import { runProgram } from "../support/run-program.ts";
import { openTokenSite } from "./token-site.ts";

/** A small client whose calls are typed by the paths of the document. */
const PROGRAM = `
import type { components, paths, webhooks } from "./api.d.ts";

type Body<Path extends keyof paths> = paths[Path] extends {
	post: { requestBody: { content: { "application/json": infer Sent } } };
} ? Sent : never;
type Created<Path extends keyof paths> = paths[Path] extends {
	post: { responses: { 201: { content: { "application/json": infer Answer } } } };
} ? Answer : never;

type Received = webhooks["partnerCallback"]["post"]["requestBody"]["content"]["application/json"];

/** Handles a callback to a partner. The types must have all of its fields. */
export function handleCallback(callback: Received): string {
	const same: components["schemas"]["PartnerCallback"] = callback;
	const payout: string = same.commission;
	const subId: string | null = same.sub1;
	return [same.event, same.status, payout, same.currency, subId, same.reason ?? "", same.test].join(" ");
}

export type Send = (method: string, path: string, body?: unknown) => Promise<unknown>;

async function create<Path extends keyof paths>(send: Send, path: Path, body: Body<Path>): Promise<Created<Path>> {
	return (await send("POST", path, body)) as Created<Path>;
}

export async function run(send: Send): Promise<string> {
	const { programme, owner } = await create(send, "/v1/network/programmes", {
		reference: "generated",
		name: "Generated",
		currency: "EUR",
		commission: { percent: "8" },
		networkFee: {},
		approvalDays: 30,
		parksPixels: true,
	});
	const changed: components["schemas"]["Programme"] = programme;
	const invited: string | undefined = owner?.email;
	return [changed.partners.clickDays, changed.commission.percent, invited].join(" ");
}
`;

test("a client that is generated from the document compiles and works, and a mistake does not compile", async (t) => {
	const folder = await mkdtemp(join(tmpdir(), "ringback-client-"));
	t.after(() => rm(folder, { recursive: true }));
	const { site, tokens } = await openTokenSite(t);
	const browser = site.browser();
	await writeFile(join(folder, "openapi.json"), (await browser.open("/openapi.json")).text);
	const generator = fileURLToPath(
		new URL("../../node_modules/openapi-typescript/bin/cli.js", import.meta.url),
	);
	const preload = new URL("./with-compiler-api.ts", import.meta.url).href;
	const generation = ["--import", preload, generator, "openapi.json", "-o", "api.d.ts"];
	await runProgram(process.execPath, generation, folder);

	await writeFile(join(folder, "program.ts"), PROGRAM);
	const mistakes = PROGRAM.replace("networkFee: {}", "networkFees: {}").replace("same.sub1", "same.orderId");
	await writeFile(join(folder, "mistake.ts"), mistakes);
	await assert.rejects(
		runProgram(process.execPath, compilation("program.ts", "mistake.ts"), folder),
		(error) => {
			const { message } = error as Error;
			assert.match(message, /mistake\.ts.*'networkFees' does not exist/);
			assert.match(message, /mistake\.ts.*'orderId' does not exist/);
			assert.doesNotMatch(message, /program\.ts\(/);
			return true;
		},
	);

	const { run, handleCallback } = await import(pathToFileURL(join(folder, "program.ts")).href);
	const result = await run(async (method: string, path: string, body?: unknown) => {
		const headers = { authorization: `Bearer ${tokens.manage}`, "content-type": "application/json" };
		const { status, text } = await browser.send(path, { method, headers, body: JSON.stringify(body) });
		assert.equal(status, 201, text);
		return JSON.parse(text);
	});
	assert.equal(result, "30 8 ");
	const document = describeApi({ brand: "Service", publicUrl: "https://ringback.example" }, API);
	const callback = document.webhooks["partnerCallback"]?.post.requestBody?.content["application/json"];
	const { reversed } = callback?.examples ?? {};
	const handled = "conversion.reversed REVERSED 10.39 EUR newsletter RETURN false";
	assert.equal(handleCallback(reversed?.value), handled);
});

/** Returns the command that checks the types of the files. */
function compilation(...files: readonly string[]): string[] {
	const compiler = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
	const options = ["--noEmit", "--strict", "--skipLibCheck", "--allowImportingTsExtensions", "--types", ""];
	return [compiler, ...options, "--module", "nodenext", "--target", "esnext", ...files];
}
