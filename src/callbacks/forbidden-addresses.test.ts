import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../test/support/log.ts";
import { createForbiddenAddressLog } from "./forbidden-addresses.ts";

test("a host and its forbidden address are logged once, and again when the address is another", () => {
	const log = createLog();
	const note = createForbiddenAddressLog(log);
	const forbid = (host: string, address: string) =>
		note(`https://${host}/x?token=1`, {
			kind: "forbidden-address",
			address,
			reason: `${address} is in a private network`,
		});
	note("https://shop.example/x?token=1", { kind: "answered", status: 204 });
	assert.equal(log.text(), "");
	for (const address of ["10.20.30.40", "10.20.30.40", "10.20.30.41"]) forbid("shop.example", address);
	forbid("other.example", "10.20.30.41");
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
