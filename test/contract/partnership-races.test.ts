// Tests two people who change the same partnership at the same moment. The owner's request reads the
// partnership, staff commit their change, and then the owner's transaction writes. The owner's transaction
// must check and keep the values that staff have just stored.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Db, Store } from "#core/store/store.ts";
import { type Browser, createTestSite, newEmail, type TestSite } from "#core/web/test-site.test-support.ts";
import { listCodes } from "#modules/partners/store/coupon-codes.ts";
import { findPartnership, type NamedPartnership } from "#modules/partners/store/partnerships.ts";
import { invitePartner } from "#modules/partners/use-cases/partners.ts";
import { addPartnership } from "#modules/partners/use-cases/partnerships.ts";
import { holdsSomebodyUp } from "../support/between-statements.ts";
import { eachDatabase } from "../support/databases.ts";

const STAFF_RATE = "10.0000";
const RATE_BEFORE = "8.0000";

eachDatabase("a partnership that two people change at once", (database) => {
	let site: TestSite;
	let programme: Programme;
	let owner: Browser;
	let partnership: NamedPartnership;
	let path: string;
	/** Work that runs once, after the page has read the partnership and before its next transaction begins. */
	let beforeTransaction: (() => Promise<unknown>) | null = null;

	before(async () => {
		const store: Store = {
			...database.store,
			async transact(work, options) {
				const interrupt = beforeTransaction;
				beforeTransaction = null;
				await interrupt?.();
				return database.store.transact(work, options);
			},
		};
		site = createTestSite(store);
		programme = await site.addProgramme();
		owner = await site.signIn(await site.addOwner(programme));
	});

	beforeEach(async () => {
		const input = { name: "Blog", site: "", email: newEmail("shop") };
		const invited = await invitePartner(site.deps, COMMAND_LINE, input);
		ok(invited.ok);
		const added = await addPartnership(site.deps, COMMAND_LINE, programme.id, invited.value.partner);
		ok(added.ok);
		await setRow(database.store.db, added.value.id, { commission_rate: RATE_BEFORE });
		partnership = await read(added.value.public_id);
		path = `/programmes/${programme.public_id}/partners/${partnership.public_id}`;
	});

	async function read(publicId = partnership.public_id): Promise<NamedPartnership> {
		const found = await findPartnership(database.store.db, publicId);
		ok(found);
		return found;
	}

	/**
	 * Updates the partnership's row as the staff's transaction does, without the other statements of that
	 * transaction.
	 */
	async function setRow(
		db: Db,
		id: number,
		change: Partial<Pick<NamedPartnership, "commission_rate" | "ended_at_ms" | "ended_by_staff">>,
	): Promise<void> {
		await db.updateTable("partnerships").set(change).where("id", "=", id).execute();
	}

	const endByStaff = (db: Db) => setRow(db, partnership.id, { ended_at_ms: 1, ended_by_staff: 1 });
	const raiseRate = (db: Db) => setRow(db, partnership.id, { commission_rate: STAFF_RATE });

	/**
	 * Locks the partnership's row on another connection until the owner's request waits for the lock, then
	 * commits.
	 */
	async function submitWhileLocked(
		change: (db: Db) => Promise<void>,
		at: string,
		fields: Record<string, string>,
	) {
		const submitted = await database.rival.transact(async (trx) => {
			await change(trx);
			const answer = owner.submit(at, fields);
			while (!(await holdsSomebodyUp(trx)));
			return { answer };
		});
		return submitted.answer;
	}

	test("an owner who saves coupon codes keeps the rate that staff have changed since the page was read", async () => {
		beforeTransaction = () => raiseRate(database.rival.db);
		const saved = await owner.submit(path, { codes: "SPRING" });
		equal(saved.status, 303, saved.text);
		equal((await read()).commission_rate, STAFF_RATE);
		const codes = await listCodes(database.store.db, [partnership.id]);
		deepEqual(
			codes.map(({ code }) => code),
			["SPRING"],
		);
	});

	test("an owner cannot resume a partnership that staff have ended since the page was read", async () => {
		await setRow(database.store.db, partnership.id, { ended_at_ms: 1 });
		beforeTransaction = () => endByStaff(database.rival.db);
		const refused = await owner.submit(`${path}/change`, { to: "active" });
		equal(refused.status, 409);
		match(refused.text, /The network ended this partnership/);
		equal((await read()).ended_at_ms, 1);
	});

	test("an owner who saves coupon codes waits for the staff's open transaction and keeps the rate that it stores", async (t) => {
		if (database.kind === "SQLite") return t.skip("SQLite has one writer, which the tests above stage");
		const saved = await submitWhileLocked(raiseRate, path, { codes: "SUMMER" });
		equal(saved.status, 303, saved.text);
		equal((await read()).commission_rate, STAFF_RATE);
	});

	test("an owner who resumes a partnership waits for staff who end it, and is refused", async (t) => {
		if (database.kind === "SQLite") return t.skip("SQLite has one writer, which the tests above stage");
		await setRow(database.store.db, partnership.id, { ended_at_ms: 1 });
		const refused = await submitWhileLocked(endByStaff, `${path}/change`, { to: "active" });
		equal(refused.status, 409);
		equal((await read()).ended_by_staff, 1);
	});
});
