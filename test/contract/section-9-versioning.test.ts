// Contract section 9: the user agent is the only version marker of a delivery.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { BODY_FIELDS } from "../support/callback-form.ts";
import { eachService } from "../support/running-service.ts";

eachService("section 9, versioning", (running) => {
	test("contract 9 User-Agent: each delivery of each event says service-postback/1", async () => {
		const programme = await running.openProgramme();
		for (const orderId of ["A-1", "A-2"]) await programme.record(orderId);
		await programme.approve("A-1");
		await programme.reverse("A-1", "RETURN");
		await programme.reject("A-2", "FRAUD");
		await programme.settled();
		deepEqual(
			programme.received.map(({ headers }) => headers.get("User-Agent")),
			Array.from({ length: 5 }, () => "service-postback/1"),
		);
	});

	test("contract 9 only marker: no other header and no field of the body tells a version", async () => {
		const programme = await running.openProgramme();
		await programme.record("A-1");
		await programme.settled();
		const [callback] = programme.received;
		deepEqual(Object.keys(callback?.body ?? {}), [...BODY_FIELDS]);
		const others = [...(callback?.headers ?? [])].filter(([name]) => name !== "User-Agent");
		equal(/\bversion|\bv\d|\/\d|ringback/i.test(others.flat().join("\n")), false);
	});
});
