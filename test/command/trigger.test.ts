// `ringback trigger` leads test conversions to each of the four events, and touches nothing real.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { insertPartner } from "#core/store/queries/partners.ts";
import { insertCode } from "#modules/partners/store/coupon-codes.ts";
import { insertPartnership } from "#modules/partners/store/partnerships.ts";
import { openListenSetup, shown, untilReceived } from "./listen-setup.ts";

describe("ringback trigger", { concurrency: 2 }, () => {
	test("trigger leads a new test conversion to each event, and a listener receives each step", async (t) => {
		const setup = await openListenSetup(t);
		const receiver = await setup.receive();
		const listening = await setup.listen(receiver.url, ["--test-only"]);
		for (const [args, statuses] of [
			["conversion.recorded --order a", ["RECORDED"]],
			["conversion.approved --order b --basket-value 49.90", ["RECORDED", "APPROVED"]],
			["conversion.rejected --order c --reason FRAUD", ["RECORDED", "REJECTED"]],
			["conversion.reversed --order d", ["RECORDED", "REVERSED"]],
			["conversion.reversed --order e --from approved", ["RECORDED", "APPROVED", "REVERSED"]],
		] as const) {
			const ended = await setup.run(["trigger", ...args.split(" "), "--json"]);
			deepEqual([ended.code, ended.stderr], [0, ""], args);
			const steps = ended.stdout.trimEnd().split("\n");
			deepEqual(
				steps.map((line) => JSON.parse(line).status),
				statuses,
			);
		}
		await untilReceived(receiver, 10, listening);
		deepEqual(shown(receiver), [
			"a RECORDED",
			"b RECORDED",
			"b APPROVED",
			"c RECORDED",
			"c REJECTED",
			"d RECORDED",
			"d REVERSED",
			"e RECORDED",
			"e APPROVED",
			"e REVERSED",
		]);
		ok(receiver.events.every((event) => event.test));
		const by = (orderId: string) => receiver.events.findLast((event) => event.orderId === orderId);
		deepEqual([by("b")?.basketValue, by("c")?.reason, by("d")?.reason], ["49.90", "FRAUD", "RETURN"]);
	});

	test("without options trigger creates an order ID and prints each step", async (t) => {
		const setup = await openListenSetup(t);
		const { code, stdout } = await setup.run(["trigger", "conversion.approved"]);
		equal(code, 0);
		match(
			stdout,
			/^conversion\.recorded {2}test-[0-9a-f]{8} {2}RECORDED {2}cnv_\w+\nconversion\.approved {2}test-/,
		);
	});

	test("trigger sends a click ID and coupon codes, and shows the credit in the answer", async (t) => {
		const setup = await openListenSetup(t);
		const { db } = setup.opened.service.store;
		await db.updateTable("programmes").set({ credits_partners: 1 }).execute();
		const ended = await setup.run(["trigger", "conversion.approved", "--click-id", "cut"]);
		match(
			ended.stdout,
			/^conversion\.recorded .* RECORDED {2}cnv_\w+ {2}CLICK_UNREADABLE\nconversion\.approved/,
		);
		const code = await setup.run(["trigger", "conversion.recorded", "--coupon-code", "X", "--json"]);
		equal(JSON.parse(code.stdout).credit, "UNKNOWN_CODE");
		const at = { created_at_ms: Date.now() };
		const partner = await insertPartner(db, { public_id: "ptn_1", name: "Blog", site: "", ...at });
		const programmeId = setup.account.programmeRow;
		const partnership = await insertPartnership(db, {
			...{ public_id: "pts_1", programme_id: programmeId, partner_id: partner.id, ...at },
			...{ commission_rate: "10", terms: "" },
		});
		ok(partnership !== undefined);
		const owner = { programme_id: programmeId, partnership_id: partnership.id, ...at };
		await insertCode(db, { ...owner, folded: "BLOG", code: "BLOG" });
		const codes = ["--coupon-code", "HOUSE", "--coupon-code=BLOG", "--coupon-code", "OTHER"];
		const several = await setup.run(["trigger", "conversion.recorded", ...codes, "--json"]);
		equal(JSON.parse(several.stdout).credit, "CODE");
	});

	test("trigger never touches a real order, recorded or parked", async (t) => {
		const setup = await openListenSetup(t);
		await setup.client.record({ orderId: "real", basketValue: "1.00" });
		await fetch(`${setup.url}/pixel/${setup.account.programmeId}.gif?orderId=parked&basketValue=1.00`);
		for (const [orderId, status] of [
			["real", "RECORDED"],
			["parked", "PARKED"],
		] as const) {
			const ended = await setup.run(["trigger", "conversion.rejected", "--order", orderId]);
			equal(ended.code, 1);
			match(ended.stderr, new RegExp(`^Order ${orderId} is a real conversion`));
			const page = await setup.client.conversions({ orderId });
			deepEqual(page.ok && page.conversions.map((one) => [one.status, one.test]), [[status, false]]);
		}
	});

	test("trigger continues an existing test order, and says why a move is impossible", async (t) => {
		const setup = await openListenSetup(t);
		await setup.run(["trigger", "conversion.recorded", "--order", "mine"]);
		const approved = await setup.run(["trigger", "conversion.approved", "--order", "mine"]);
		match(
			approved.stdout,
			/^was there before +mine {2}RECORDED[\s\S]*conversion\.approved {2}mine {2}APPROVED/,
		);
		const refused = await setup.run(["trigger", "conversion.rejected", "--order", "mine", "--json"]);
		equal(refused.code, 1);
		equal(JSON.parse(refused.stdout.trimEnd().split("\n").at(-1) ?? "").error, "move_not_allowed");
	});
});
