// Tests what happens to the writes of a refused transaction, on both databases.

import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import { commitRefusal } from "#core/store/refusals.ts";
import type { Db } from "#core/store/store.ts";
import { eachDatabase } from "../support/databases.ts";

const REFUSAL = () => refuse("not_allowed", "No.");

eachDatabase("refused transactions", (database) => {
	const write = (trx: Db, subject: string) =>
		noteAudit(trx, { personId: null, action: "key.issued", subject }, 1);

	async function written(): Promise<(string | null)[]> {
		const entries = await database.store.db
			.selectFrom("audit_entries")
			.select("subject")
			.orderBy("id")
			.execute();
		return entries.map(({ subject }) => subject);
	}

	test("a refusal rolls back what was written before it, and is the result", async () => {
		const before = await written();
		const refusal = REFUSAL();
		const result = await database.store.transact(async (trx): Promise<Result<true>> => {
			await write(trx, "refused");
			return refusal;
		});
		equal(result, refusal);
		deepEqual(await written(), before);
	});

	test("a success and any other value are committed", async () => {
		const before = await written();
		await database.store.transact(async (trx) => {
			await write(trx, "succeeded");
			return succeed(true);
		});
		await database.store.transact((trx) => write(trx, "without a result"));
		deepEqual(await written(), [...before, "succeeded", "without a result"]);
	});

	test("commitRefusal keeps what was written, and does not reach a copy of the refusal", async () => {
		const before = await written();
		const marked = commitRefusal(REFUSAL());
		const result = await database.store.transact(async (trx) => {
			await write(trx, "marked");
			return marked;
		});
		equal(result, marked);
		await database.store.transact(async (trx) => {
			await write(trx, "copied");
			return { ...marked };
		});
		deepEqual(await written(), [...before, "marked"]);
	});

	test("an error rolls back, too, and is thrown", async () => {
		const before = await written();
		const failing = database.store.transact(async (trx) => {
			await write(trx, "thrown");
			throw new Error("broken");
		});
		await rejects(failing, /^Error: broken$/);
		deepEqual(await written(), before);
	});
});
