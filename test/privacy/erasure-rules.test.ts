// Tests who can be erased and who cannot, what two people can do at once, and that the work after an erasure continues in
// another process.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import type { Result } from "#core/domain/fault.ts";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { COMMAND_LINE, type SignedInPerson } from "#core/people/actor.ts";
import { createPerson } from "#core/people/people.ts";
import { noteAudits } from "#core/store/queries/audit.ts";
import { insertMail } from "#core/store/queries/mail-queue.ts";
import { findPartnerById, insertPartner } from "#core/store/queries/partners.ts";
import { addToProgramme } from "#core/store/queries/programme-people.ts";
import type { Store } from "#core/store/store.ts";
import { adjustAccount } from "#modules/accounts/use-cases/adjust.ts";
import { payStatements } from "#modules/accounts/use-cases/payments.ts";
import { NOVEMBER_MS, openNetwork } from "#modules/accounts/use-cases/statements.test-support.ts";
import { insertPartnerLink } from "#modules/partners/store/partner-links.ts";
import { renamePartner } from "#modules/partners/use-cases/partners.ts";
import { findErasure } from "#modules/personal-data/store/erasures.ts";
import { erasePartner } from "#modules/personal-data/use-cases/erase-partner.ts";
import { erasePerson } from "#modules/personal-data/use-cases/erase-person.ts";
import { SECOND_ROUND_AFTER_MS, workOffErasures } from "#modules/personal-data/use-cases/erasure-work.ts";
import { createRandom } from "../../src/outside/random.ts";
import { setProgramme } from "../support/change-rows.ts";
import { createClock } from "../support/clock.ts";
import { eachDatabase, onDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { addProgramme, newId } from "../support/rows.ts";
import { addPerson, signInAs } from "../support/signed-in.ts";

const KEY_RING = createKeyRing([new Uint8Array(32).fill(7)]);

function depsOf(store: Store, clock = createClock()) {
	return { store, clock, random: createRandom(), keyRing: KEY_RING, log: createLog() };
}

function codeOf(result: Result<unknown>): string {
	return result.ok ? "ok" : result.fault.code;
}

eachDatabase("who can be erased", (database) => {
	const erase = (publicId: string, actor: SignedInPerson | typeof COMMAND_LINE = COMMAND_LINE) =>
		erasePerson(depsOf(database.store), actor, publicId, []);

	test("the last member of staff who can sign in is not erased, and one who cannot sign in is", async () => {
		const { store } = database;
		const last = await addPerson(store, "staff");
		await signInAs(store, last);
		const invited = await addPerson(store, "staff");
		const refused = await erase(last.public_id);
		equal(codeOf(refused), "wrong_status");
		match(
			!refused.ok ? refused.fault.detail : "",
			/is the last member of the staff .* Invite another one first\./,
		);
		equal(codeOf(await erase(invited.public_id)), "ok");
		const second = await addPerson(store, "staff");
		const actor = await signInAs(store, second);
		const own = await erase(second.public_id, actor);
		match(!own.ok ? own.fault.detail : "", /your own account\. Ask another member of the staff\./);
		equal(codeOf(await erase(last.public_id, actor)), "ok");
	});

	test("the only owner of a programme is not erased until there is another one, or the programme is archived", async () => {
		const { store } = database;
		const [live, archived] = [await addProgramme(store), await addProgramme(store)];
		await setProgramme(store.db, archived.id, { archived_at_ms: 1 });
		const [owner, other, viewer] = [
			await addPerson(store, "shop"),
			await addPerson(store, "shop"),
			await addPerson(store, "shop"),
		];
		for (const programme of [live, archived]) await addToProgramme(store.db, programme.id, owner.id, "owner");
		await addToProgramme(store.db, live.id, viewer.id, "viewer");
		const refused = await erase(owner.public_id);
		equal(codeOf(refused), "wrong_status");
		match(
			!refused.ok ? refused.fault.detail : "",
			/is the only owner of the programme Shop\. Make another person/,
		);
		equal(codeOf(await erase(viewer.public_id)), "ok");
		await addToProgramme(store.db, live.id, other.id, "owner");
		equal(codeOf(await erase(owner.public_id)), "ok");
		const roles = await store.db.selectFrom("programme_people").selectAll().execute();
		deepEqual(
			roles.filter(({ programme_id }) => [live.id, archived.id].includes(programme_id)),
			[{ programme_id: live.id, person_id: other.id, role: "owner" }],
		);
	});

	test("nobody is erased twice, unknown IDs are refused, and people of shops erase nobody", async () => {
		const { store } = database;
		const person = await addPerson(store, "shop");
		const actor = await signInAs(store, await addPerson(store, "shop"));
		equal(codeOf(await erase(person.public_id, actor)), "not_allowed");
		equal(codeOf(await erase(person.public_id)), "ok");
		const again = await erase(person.public_id);
		equal(codeOf(again), "already_erased");
		match(!again.ok ? again.fault.detail : "", /was erased on \d{4}-\d\d-\d\d\. Nothing is left to erase\./);
		equal(codeOf(await erase("usr_0")), "unknown_person");
		const partner = await insertPartner(store.db, newPartner("Twice"));
		const deps = depsOf(store);
		equal(codeOf(await erasePartner(deps, actor, partner.public_id)), "not_allowed");
		equal(codeOf(await erasePartner(deps, COMMAND_LINE, partner.public_id)), "ok");
		equal(codeOf(await erasePartner(deps, COMMAND_LINE, partner.public_id)), "already_erased");
		equal(codeOf(await erasePartner(deps, COMMAND_LINE, "ptn_0")), "unknown_partner");
	});

	test("mails that wait for the person are dropped at once, and those to somebody who was invited anew stay", async () => {
		const { store } = database;
		const clock = createClock();
		const deps = depsOf(store, clock);
		const person = await addPerson(store, "shop");
		const write = (subject: string) =>
			insertMail(store.db, {
				...{ to_address: person.email, topic: null, subject, sealed_text: null },
				...{ created_at_ms: 1, due_at_ms: 1, good_until_ms: 1 },
			});
		const find = async () => {
			const mails = store.db.selectFrom("mail_queue").select("subject");
			return (await mails.where("to_address", "=", person.email).execute()).map(({ subject }) => subject);
		};
		await write("before");
		ok((await erasePerson(deps, COMMAND_LINE, person.public_id, [])).ok);
		deepEqual(await find(), []);
		await write("in flight");
		await workOffErasures(deps, () => false);
		deepEqual(await find(), []);
		await createPerson(deps, { email: person.email, kind: "shop" });
		await write("anew");
		await clock.moveBy(SECOND_ROUND_AFTER_MS);
		await workOffErasures(deps, () => false);
		deepEqual(await find(), ["anew"]);
	});

	test("API keys that the person issued end, except those that are kept", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		const person = await addPerson(store, "shop");
		const key = { programme_id: programme.id, name: "Server", hint: "1234", created_at_ms: 1 };
		const issued = { ...key, key_right: "report", issued_by: person.id } as const;
		for (const public_id of ["key_kept", "key_ends"]) {
			await store.db
				.insertInto("api_keys")
				.values({ ...issued, public_id, hash: public_id })
				.execute();
		}
		ok((await erasePerson(depsOf(store), COMMAND_LINE, person.public_id, ["key_kept"])).ok);
		const keys = await store.db
			.selectFrom("api_keys")
			.select("public_id")
			.where("revoked_at_ms", "is", null)
			.where("programme_id", "=", programme.id)
			.execute();
		deepEqual(keys, [{ public_id: "key_kept" }]);
	});
});

eachDatabase("a partner is erased only when nothing is owed", (database) => {
	test("an open sale, an open balance and an unpaid statement each refuse it with what to do", async () => {
		const network = await openNetwork(database.store);
		const { deps, staff } = network;
		const programme = await network.addProgramme();
		const blog = await network.join(programme, await network.addPartner("Blog"));
		const { public_id: id } = blog.partner;
		const erase = () => erasePartner({ ...deps, log: createLog() }, staff, id);
		const whyNot = async () => {
			const refused = await erase();
			equal(codeOf(refused), "wrong_status");
			return refused.ok ? "" : refused.fault.detail;
		};
		const sale = await network.sell(blog, "40.00");
		match(await whyNot(), /^Some sales of Blog wait for a decision\. Erase the partner when/);
		await network.approve(sale);
		match(await whyNot(), /^The account of Blog is not settled \(EUR\)\. Pay its statements, or clear/);
		await network.clock.moveTo(NOVEMBER_MS);
		await network.issue(await network.prepare("2026-10"));
		match(await whyNot(), /is not settled \(EUR\)/);
		const [statement] = await network.statements();
		const payment = { date: "2026-11-02", reference: "" };
		const claims = { paidWithoutDetails: [statement?.public_id ?? ""] };
		ok((await payStatements(deps, staff, claims.paidWithoutDetails, payment, claims)).ok);
		ok(
			(
				await adjustAccount(deps, staff, blog.partner.id, {
					currency: "USD",
					amount: "1.00",
					reason: "bonus",
				})
			).ok,
		);
		match(await whyNot(), /is not settled \(USD\)/);
		ok(
			(
				await adjustAccount(deps, staff, blog.partner.id, {
					currency: "USD",
					amount: "-1.00",
					reason: "back",
				})
			).ok,
		);
		equal(codeOf(await erase()), "ok");
		deepEqual(await network.brokenRules(), []);
	});

	test("a return after the erasure is still entered in the account", async () => {
		const network = await openNetwork(database.store);
		const { deps, staff } = network;
		const programme = await network.addProgramme("JPY");
		const shoes = await network.join(programme, await network.addPartner("Shoes"));
		const approved = await network.approve(await network.sell(shoes, "700"));
		const back = { currency: "JPY", amount: "-700", reason: "settled elsewhere" };
		ok((await adjustAccount(deps, staff, shoes.partner.id, back)).ok);
		ok((await erasePartner({ ...deps, log: createLog() }, staff, shoes.partner.public_id)).ok);
		await network.reverse(approved);
		deepEqual(await network.brokenRules(), []);
		const entries = await database.store.db
			.selectFrom("entries")
			.select(["kind", "amount", "reason", "sub_1"])
			.where("partner_id", "=", shoes.partner.id)
			.orderBy("id")
			.execute();
		deepEqual(entries.at(-1)?.amount, "-700");
	});
});

eachDatabase("the work after an erasure", (database) => {
	const ROWS = 1_200;

	async function addBusyPartner() {
		const { store } = database;
		const programme = await addProgramme(store);
		const partner = await insertPartner(store.db, newPartner("Busy Blog"));
		const partnership = await store.db
			.insertInto("partnerships")
			.values({
				...{ public_id: newId("pts"), programme_id: programme.id, partner_id: partner.id },
				...{ terms: "", created_at_ms: 1 },
			})
			.returningAll()
			.executeTakeFirstOrThrow();
		const link = { partnership_id: partnership.id, name: "Busy", created_at_ms: 1 };
		const target = "https://shop.example/?busy";
		await insertPartnerLink(store.db, { ...link, code: `busy-${partner.id}`, target });
		const ids = Array.from({ length: ROWS }, (_, index) => index);
		await store.transact((trx) =>
			noteAudits(
				trx,
				ids.map((index) => ({
					...{ personId: null, action: "partner.changed" as const, subject: partner.public_id },
					detail: `name: Busy ${index} → Busy Blog`,
				})),
				1,
			),
		);
		const rows = ids.map((index) => ({
			...{
				conversion_id: partner.id * 10_000 + index,
				programme_id: programme.id,
				partnership_id: partnership.id,
			},
			// Many sales have the same time.
			...{ word: "CLICK" as const, sold_at_ms: Math.floor(index / 700), link_id: null, clicked_at_ms: null },
			...{ sub_1: "busy", sub_2: "", sub_3: "" },
		}));
		for (let at = 0; at < rows.length; at += 300) {
			await store.db
				.insertInto("credits")
				.values(rows.slice(at, at + 300))
				.execute();
		}
		return partner;
	}

	async function countLeft(partnerId: number): Promise<number> {
		const { db } = database.store;
		const entries = await db
			.selectFrom("audit_entries")
			.select("id")
			.where("detail", "like", "%Busy%")
			.execute();
		const credits = await db
			.selectFrom("credits")
			.innerJoin("partnerships", "partnerships.id", "credits.partnership_id")
			.select("conversion_id")
			.where("partner_id", "=", partnerId)
			.where("sub_1", "<>", "")
			.execute();
		return entries.length + credits.length;
	}

	test("a process that stops between two batches leaves a position, and others finish the work together", async () => {
		const partner = await addBusyPartner();
		const clock = createClock();
		const deps = depsOf(database.store, clock);
		const rival = depsOf(database.rival, clock);
		ok((await erasePartner(deps, COMMAND_LINE, partner.public_id)).ok);
		const before = await countLeft(partner.id);
		ok(before >= 2 * ROWS);
		// Each call works for a few batches, as a process would that is killed after them.
		let batches = 0;
		for (let calls = 0; calls < 3; calls++) {
			batches = 0;
			await workOffErasures(deps, () => ++batches > 5);
		}
		const left = await countLeft(partner.id);
		ok(left > 0 && left < before, `${left} of ${before} are left`);
		await Promise.all([deps, rival].map((each) => workOffErasures(each, () => false)));
		equal(await countLeft(partner.id), 0);
		await clock.moveBy(SECOND_ROUND_AFTER_MS);
		await Promise.all([deps, rival].map((each) => workOffErasures(each, () => false)));
		const done = await findErasure(database.store.db, partner.public_id);
		deepEqual([done?.round, done?.sealed_words, done?.due_at_ms], [2, null, null]);
	});

	test("the second walk removes what a process stored after the first one", async () => {
		const { store } = database;
		const clock = createClock();
		const deps = depsOf(store, clock);
		const person = await addPerson(store, "shop");
		ok((await erasePerson(deps, COMMAND_LINE, person.public_id, [])).ok);
		await workOffErasures(deps, () => false);
		await store.transact((trx) =>
			noteAudits(trx, [{ personId: null, action: "person.invited", subject: person.email }], 1),
		);
		await clock.moveBy(SECOND_ROUND_AFTER_MS - 1);
		await workOffErasures(deps, () => false);
		const find = () =>
			store.db.selectFrom("audit_entries").select("id").where("subject", "=", person.email).execute();
		equal((await find()).length, 1, "it is not due yet");
		await clock.moveBy(1);
		await workOffErasures(deps, () => false);
		equal((await find()).length, 0);
	});

	test("with another sealing key the work fails and says so, and with the right one it is done", async () => {
		const { store } = database;
		const deps = depsOf(store);
		const person = await addPerson(store, "shop");
		ok((await erasePerson(deps, COMMAND_LINE, person.public_id, [])).ok);
		const wrong = { ...deps, keyRing: createKeyRing([new Uint8Array(32)]) };
		await workOffErasures(wrong, () => false).then(
			() => ok(false, "it did not fail"),
			(error: Error) => match(error.message, /was sealed with another key/),
		);
		await workOffErasures(deps, () => false);
		equal((await findErasure(store.db, person.public_id))?.round, 2);
	});
});

onDatabase("PostgreSQL", "two people at once", (database) => {
	test("two members of staff who erase each other at once leave one", async () => {
		const staff = [
			await addPerson(database.store, "staff"),
			await addPerson(database.store, "staff"),
		] as const;
		const actors = [
			await signInAs(database.store, staff[0]),
			await signInAs(database.store, staff[1]),
		] as const;
		const results = await Promise.all([
			erasePerson(depsOf(database.store), actors[0], staff[1].public_id, []),
			erasePerson(depsOf(database.rival), actors[1], staff[0].public_id, []),
		]);
		deepEqual(results.map(codeOf).toSorted(), ["not_allowed", "ok"]);
	});

	test("two owners who are erased at once leave one", async () => {
		const programme = await addProgramme(database.store);
		const owners = [
			await addPerson(database.store, "shop"),
			await addPerson(database.store, "shop"),
		] as const;
		for (const { id } of owners) await addToProgramme(database.store.db, programme.id, id, "owner");
		const results = await Promise.all([
			erasePerson(depsOf(database.store), COMMAND_LINE, owners[0].public_id, []),
			erasePerson(depsOf(database.rival), COMMAND_LINE, owners[1].public_id, []),
		]);
		deepEqual(results.map(codeOf).toSorted(), ["ok", "wrong_status"]);
	});

	test("a partner that is renamed while it is erased is erased in any order", async () => {
		for (let round = 0; round < 5; round++) {
			const partner = await insertPartner(database.store.db, newPartner(`Race ${round}`));
			const staff = await signInAs(database.store, await addPerson(database.store, "staff"));
			const [renamed, erased] = await Promise.all([
				renamePartner(depsOf(database.rival), staff, partner.id, { name: "New name" }),
				erasePartner(depsOf(database.store), COMMAND_LINE, partner.public_id),
			]);
			equal(codeOf(erased), "ok");
			ok(["ok", "unknown_partner"].includes(codeOf(renamed)), codeOf(renamed));
			equal((await findPartnerById(database.store.db, partner.id))?.name, "erased partner");
		}
	});
});

function newPartner(name: string) {
	return { public_id: newId("ptn"), name, site: "", created_at_ms: 1 };
}
