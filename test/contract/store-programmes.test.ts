// Tests programmes, their owners and their Postback URLs on both databases.

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { setPassword } from "#core/store/queries/passwords.ts";
import { findPersonByEmail, insertPerson } from "#core/store/queries/people.ts";
import { addresseesOf, addToProgramme, listOwnerEmails } from "#core/store/queries/programme-people.ts";
import { findProgramme } from "#core/store/queries/programmes.ts";
import { START_MS } from "../support/clock.ts";
import { eachDatabase } from "../support/databases.ts";
import { addProgramme, newId } from "../support/rows.ts";

eachDatabase("programmes", (database) => {
	test("a programme is read as it was stored, amounts as text and times as numbers", async () => {
		const { store } = database;
		const made = await addProgramme(store);
		const found = await findProgramme(store.db, made.public_id);
		equal(found?.commission_rate, "7.5000");
		equal(found?.created_at_ms, START_MS);
		equal(found?.endpoint_epoch, 0);
		equal(typeof found?.id, "number");
	});

	test("an e-mail address belongs to one person, even if two sign up at once", async () => {
		const { store, rival } = database;
		const person = () => ({
			public_id: newId("usr"),
			email: "owner@shop.example",
			kind: "shop" as const,
			created_at_ms: START_MS,
		});
		const made = await Promise.all([store, rival].map(({ db }) => insertPerson(db, person())));
		equal(made.filter((one) => one !== undefined).length, 1);
		equal((await findPersonByEmail(store.db, "owner@shop.example"))?.kind, "shop");
	});

	test("an owner who is added twice is mailed once, in the network's time zone, and only after joining", async () => {
		const { store } = database;
		const { id } = await addProgramme(store);
		const person = await insertPerson(store.db, {
			public_id: newId("usr"),
			email: "twice@shop.example",
			kind: "shop",
			created_at_ms: START_MS,
		});
		await addToProgramme(store.db, id, person?.id ?? 0, "owner");
		await addToProgramme(store.db, id, person?.id ?? 0, "owner");
		deepEqual(await addresseesOf(store.db, id, ["owner"]), [], "the person has no password yet");
		deepEqual(await listOwnerEmails(store.db, id), ["twice@shop.example"]);
		await setPassword(store.db, person?.id ?? 0, "hash", START_MS);
		await store.db.updateTable("network").set({ time_zone: "Europe/Berlin" }).execute();
		const owners = await addresseesOf(store.db, id, ["owner"]);
		deepEqual(
			owners.map(({ email, zone }) => [email, zone]),
			[["twice@shop.example", "Europe/Berlin"]],
		);
		await store.db
			.updateTable("people")
			.set({ zone: "Asia/Tokyo" })
			.where("id", "=", person?.id ?? 0)
			.execute();
		equal((await addresseesOf(store.db, id, ["owner"]))[0]?.zone, "Asia/Tokyo");
	});
});
