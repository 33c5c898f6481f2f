// Tests archiving of programmes and partners on both databases.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { decideConversion } from "#core/conversions/decide.ts";
import { COMMAND_LINE, type SignedInPerson } from "#core/people/actor.ts";
import { archiveProgramme, resumeProgramme } from "#core/programmes/archive.ts";
import { insertPartner, listPartners } from "#core/store/queries/partners.ts";
import { insertPerson } from "#core/store/queries/people.ts";
import { listProgrammes } from "#core/store/queries/programme-list.ts";
import { findProgrammesByName, listKeylessProgrammes } from "#core/store/queries/programmes.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { findLinks } from "#modules/partners/store/clicks.ts";
import { insertPartnerLink } from "#modules/partners/store/partner-links.ts";
import { listPartnerships } from "#modules/partners/store/partnerships.ts";
import { archivePartner, resumePartner } from "#modules/partners/use-cases/archive.ts";
import { addPartnership, changeState } from "#modules/partners/use-cases/partnerships.ts";
import { CHANGES } from "../../src/modules.ts";
import { createRandom } from "../../src/outside/random.ts";
import { setLandingHosts, setProgramme } from "../support/change-rows.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { mainlyOn } from "../support/databases.ts";
import { addConversion, addCredit, addProgramme, newId } from "../support/rows.ts";
import { signInAs } from "../support/signed-in.ts";

const LIMIT = { limit: 1_000 };

mainlyOn("SQLite", "archiving", (database) => {
	const depsOf = () => ({
		store: database.store,
		clock: createClock(),
		random: createRandom(),
		changes: CHANGES,
	});

	async function addActor(kind: "staff" | "shop"): Promise<SignedInPerson> {
		const public_id = newId("usr");
		const email = `${public_id}@people.example`;
		const person = await insertPerson(database.store.db, { public_id, email, kind, created_at_ms: 0 });
		ok(person !== undefined);
		await signInAs(database.store, person);
		return { kind, personId: person.id, sessionId: public_id };
	}

	async function addPartner(programmeId: number, name: string) {
		const { db } = database.store;
		const row = { public_id: newId("ptn"), name, site: "", created_at_ms: START_MS };
		const partner = await insertPartner(db, row);
		const joined = await addPartnership(depsOf(), COMMAND_LINE, programmeId, partner);
		ok(joined.ok);
		return { partner, partnership: joined.value };
	}

	async function isListed(partner: Partner, archived: "no" | "only" | "too"): Promise<boolean> {
		const { rows } = await listPartners(database.store.db, { ...LIMIT, archived });
		return rows.some(({ id }) => id === partner.id);
	}

	test("a programme with open conversions is not archived, and one with decided ones and tests is", async () => {
		const { store } = database;
		const deps = depsOf();
		const programme = await addProgramme(store);
		const { public_id: id } = programme;
		await addConversion(store, programme.id, { test: 1 });
		const conversion = await addConversion(store, programme.id);
		const refused = await archiveProgramme(deps, COMMAND_LINE, id);
		equal(!refused.ok && refused.fault.code, "wrong_status");
		await store.transact((trx) =>
			decideConversion(trx, deps, conversion, { move: "approve", decidedBy: "shop" }),
		);
		deepEqual(await archiveProgramme(deps, COMMAND_LINE, id), { ok: true, value: true });
		deepEqual(await archiveProgramme(deps, COMMAND_LINE, id), { ok: true, value: false }, "again");
		const late = await addConversion(store, programme.id);
		const approved = await store.transact((trx) =>
			decideConversion(trx, deps, late, { move: "approve", decidedBy: "shop" }),
		);
		ok(approved.ok, "a sale that was recorded within the second after the archiving is decided as usual");
		const isIn = async (filter: object) =>
			(await listProgrammes(store.db, { ...LIMIT, ...filter })).rows.some(({ publicId }) => publicId === id);
		deepEqual(
			[await isIn({}), await isIn({ isArchived: true }), await isIn({ search: id })],
			[false, true, true],
			"the ID still finds it",
		);
		equal((await listKeylessProgrammes(store.db, 10_000)).includes(programme.id), false);
		equal(
			(await findProgrammesByName(store.db, [programme.name])).some((found) => found.id === programme.id),
			false,
		);
		deepEqual(await resumeProgramme(deps, COMMAND_LINE, id), { ok: true, value: true });
		deepEqual([await isIn({}), await isIn({ isArchived: true })], [true, false]);
		const entries = await store.db
			.selectFrom("audit_entries")
			.select("action")
			.where("programme_id", "=", programme.id)
			.orderBy("id")
			.execute();
		deepEqual(
			entries.map(({ action }) => action),
			["programme.archived", "programme.resumed"],
		);
	});

	test("links of an archived programme lead to the shop without counting clicks", async () => {
		const { store } = database;
		const programme = await addProgramme(store);
		await setProgramme(store.db, programme.id, { credits_partners: 1 });
		await setLandingHosts(store.db, programme.id, [{ host: "shop.example", withSubdomains: false }]);
		const { partnership } = await addPartner(programme.id, "Linked");
		const code = newId("lnk").toLowerCase();
		const target = "https://shop.example/";
		await insertPartnerLink(store.db, {
			...{ code, name: "", target, partnership_id: partnership.id, created_at_ms: START_MS },
		});
		const find = async () => (await findLinks(store.db, [code]))[0];
		equal((await find())?.isActive, true);
		ok((await archiveProgramme(depsOf(), COMMAND_LINE, programme.public_id)).ok);
		deepEqual([(await find())?.isActive, (await find())?.landing?.href], [false, target]);
	});

	test("a partner with open sales or an unsettled account is not archived", async () => {
		const { store } = database;
		const deps = depsOf();
		const staff = await addActor("staff");
		const programme = await addProgramme(store);
		await setProgramme(store.db, programme.id, { credits_partners: 1 });
		const { partner, partnership } = await addPartner(programme.id, "Earning");
		const conversion = await addConversion(store, programme.id, { commission: "5.00" });
		await addCredit(store.db, {
			...{ conversion_id: conversion.id, programme_id: programme.id, partnership_id: partnership.id },
			...{ word: "ASSIGNED", sold_at_ms: START_MS, link_id: null, clicked_at_ms: null },
			...{ sub_1: "", sub_2: "", sub_3: "" },
		});
		const open = await archivePartner(deps, staff, partner.id);
		match(open.ok ? "" : open.fault.detail, /Some sales of Earning wait for a decision/);
		await store.transact((trx) =>
			decideConversion(trx, deps, conversion, { move: "approve", decidedBy: "shop" }),
		);
		const owed = await archivePartner(deps, staff, partner.id);
		match(owed.ok ? "" : owed.fault.detail, /account of Earning is not settled \(EUR\)/);
		equal(await isListed(partner, "no"), true, "nothing was changed");
		const [still] = await listPartnerships(store.db, "id", [partnership.id]);
		equal(still?.ended_at_ms, null);
	});

	test("an archived partner has no active partnership until staff resume it, and is in no list", async () => {
		const { store } = database;
		const deps = depsOf();
		const programme = await addProgramme(store);
		const { partner, partnership } = await addPartner(programme.id, "Gone");
		const refused = await archivePartner(deps, await addActor("shop"), partner.id);
		equal(!refused.ok && refused.fault.code, "not_allowed");
		const staff = await addActor("staff");
		deepEqual(await archivePartner(deps, staff, partner.id), { ok: true, value: true });
		deepEqual(await archivePartner(deps, staff, partner.id), { ok: true, value: false });
		const [ended] = await listPartnerships(store.db, "id", [partnership.id]);
		deepEqual([ended?.ended_at_ms, ended?.ended_by_staff], [START_MS, 1]);
		deepEqual(
			[await isListed(partner, "no"), await isListed(partner, "only"), await isListed(partner, "too")],
			[false, true, true],
		);
		const byName = await listPartners(store.db, { ...LIMIT, search: "Gone" });
		const byId = await listPartners(store.db, { ...LIMIT, search: partner.public_id });
		deepEqual([byName.rows.length, byId.rows.length], [0, 1]);
		const address = { programmeId: programme.id, publicId: partnership.public_id };
		const tooEarly = await changeState(deps, staff, address, "active");
		match(tooEarly.ok ? "" : tooEarly.fault.detail, /archived the partner Gone\. Its staff must resume it/);
		const [stillEnded] = await listPartnerships(store.db, "id", [partnership.id]);
		equal(stillEnded?.ended_at_ms, START_MS, "the partnership was not resumed");
		deepEqual(await resumePartner(deps, staff, partner.id), { ok: true, value: true });
		equal(await isListed(partner, "no"), true);
		ok((await changeState(deps, staff, address, "active")).ok);
		const [active] = await listPartnerships(store.db, "id", [partnership.id]);
		equal(active?.ended_at_ms, null);
	});
});
