import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../test/support/log.ts";
import type { Outcome } from "../domain/verdict.ts";
import { logForbiddenAddresses } from "./forbidden-addresses.ts";

const TIMINGS = { lookUpMs: null, connectMs: null, tlsMs: null, answerMs: null };

test("a host and its forbidden address are logged once, and again when the address is another", async () => {
	const log = createLog();
	let outcome: Outcome = { kind: "answered", status: 204 };
	const transport = logForbiddenAddresses({ post: async () => ({ outcome, timings: TIMINGS }) }, log);
	const post = (host: string) => transport.post({ url: `https://${host}/x?token=1`, headers: [], body: "" });
	await post("shop.example");
	assert.equal(log.text(), "");
	for (const address of ["10.20.30.40", "10.20.30.40", "10.20.30.41"]) {
		outcome = { kind: "forbidden-address", address, reason: `${address} is in a private network` };
		assert.deepEqual((await post("shop.example")).outcome, outcome);
	}
	await post("other.example");
	const said = (host: string, address: string) => ({
		host,
		address,
		reason: `${address} is in a private network`,
	});
	assert.deepEqual(
		log.lines.map(({ fields }) => fields),
		[
			said("shop.example", "10.20.30.40"),
			said("shop.example", "10.20.30.41"),
			said("other.example", "10.20.30.41"),
		],
	);
	assert.doesNotMatch(log.text(), /token/);
});
