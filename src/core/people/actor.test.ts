import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { addPartner } from "#modules/partners/web/partner-shop.test-support.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { type ApiToken, insertApiToken, revokeApiToken } from "../store/queries/api-tokens.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { findPersonByEmail, type Person } from "../store/queries/people.ts";
import { endSession, listSessions } from "../store/queries/sessions.ts";
import type { Db } from "../store/store.ts";
import { openTestSite, type TestSite } from "../web/test-site.test-support.ts";
import {
	type Actor,
	COMMAND_LINE,
	type Demands,
	forPartner,
	inProgramme,
	type Permission,
	SERVICE,
	SIGNED_IN,
	STAFF,
	transactAs,
} from "./actor.ts";

async function signedIn(site: TestSite, person: Person): Promise<Actor> {
	const { db } = site.store;
	if ((await listSessions(db, person.id)).length === 0) await site.signIn(person);
	const { id: sessionId } = await db
		.selectFrom("sessions")
		.select("id")
		.where("person_id", "=", person.id)
		.executeTakeFirstOrThrow();
	return { kind: person.kind, personId: person.id, sessionId };
}

function addToken({ store }: TestSite, { id }: Person, partnerId: number | null = null): Promise<ApiToken> {
	return insertApiToken(store.db, {
		...{ public_id: `tok_${id}`, partner_id: partnerId, name: "Portal", hash: `hash ${id}`, hint: "1a2b" },
		...{ token_right: "manage", issued_by: id, created_at_ms: 0, expires_at_ms: null },
	});
}

async function open(t: Parameters<typeof openTestSite>[0]) {
	const site = await openTestSite(t);
	const [programme, other] = [await site.addProgramme("Shop"), await site.addProgramme("Other")];
	const { partner, email } = await addPartner(site, "Blog");
	const blogger = await findPersonByEmail(site.store.db, email);
	if (blogger === undefined) throw new Error("the partner's person is missing");
	const staff = await site.addStaff();
	const actors = {
		"the command line": COMMAND_LINE,
		"the service": SERVICE,
		staff: await signedIn(site, staff),
		"a token of staff": { kind: "staff", personId: staff.id, tokenId: (await addToken(site, staff)).id },
		owner: await signedIn(site, await site.addOwner(programme)),
		developer: await signedIn(site, await site.addPerson(programme, "developer")),
		viewer: await signedIn(site, await site.addPerson(programme, "viewer")),
		blogger: await signedIn(site, blogger),
	} satisfies Record<string, Actor>;
	return { site, programme, other, partner, staff, actors };
}

describe("a permission lets an actor make a change", () => {
	test("each actor has exactly the permissions of its place", async (t) => {
		const { site, programme, other, partner, actors } = await open(t);
		const everywhere = ["the command line", "the service", "staff", "a token of staff"];
		const cases: readonly [Permission, readonly string[]][] = [
			[SIGNED_IN, Object.keys(actors)],
			[STAFF, everywhere],
			[inProgramme(programme.id), [...everywhere, "owner"]],
			[inProgramme(programme.id, "decide"), [...everywhere, "owner"]],
			[inProgramme(programme.id, "integrate"), [...everywhere, "owner", "developer"]],
			[inProgramme(programme.id, "look"), [...everywhere, "owner", "developer", "viewer"]],
			[inProgramme(other.id, "look"), everywhere],
			[forPartner(partner.id), [...everywhere, "blogger"]],
			[forPartner(partner.id + 1), everywhere],
		];
		for (const [permission, allowed] of cases) {
			const found: string[] = [];
			for (const [name, actor] of Object.entries(actors)) {
				const done = await transactAs(site.store, actor, permission, async () => succeed(name));
				if (done.ok) found.push(done.value);
				else equal(done.fault.code, "not_allowed");
			}
			deepEqual(found, allowed, JSON.stringify(permission));
		}
	});

	test("nobody whose access has ended changes anything, whatever the permission", async (t) => {
		const { site, staff, actors } = await open(t);
		for (const { id } of await listSessions(site.store.db, staff.id)) await endSession(site.store.db, id);
		await revokeApiToken(site.store.db, null, `tok_${staff.id}`, 1);
		for (const [name, code] of [
			["staff", "not_allowed"],
			["a token of staff", "revoked_token"],
		] as const) {
			for (const permission of [SIGNED_IN, STAFF]) {
				const work = async (): Promise<Result<true>> => {
					throw new Error("the change was made");
				};
				const done = await transactAs(site.store, actors[name], permission, work);
				equal(done.ok || done.fault.code, code);
			}
		}
	});
});

describe("the conditions of an API call", () => {
	const write = (trx: Db): Promise<void> =>
		noteAudit(trx, { personId: null, action: "key.issued", subject: "k" }, 1);

	async function change(t: Parameters<typeof openTestSite>[0], demands: Demands) {
		const { site, actors } = await open(t);
		const holder = { ...actors["a token of staff"], demands };
		const done = await transactAs(site.store, holder, STAFF, async (trx) => {
			await write(trx);
			return succeed("changed");
		});
		return { code: done.ok ? done.value : done.fault.code, entries: (await site.audit("key.issued")).length };
	}

	test("are checked before and after the change, which stays if they hold", async (t) => {
		const seen: unknown[] = [];
		const demands: Demands = {
			before: async () => succeed(seen.push("before")),
			after: async (_, value) => succeed(seen.push(value)),
		};
		deepEqual(await change(t, demands), { code: "changed", entries: 1 });
		deepEqual(seen, ["before", "changed"]);
	});

	test("undo the change if one does not hold", async (t) => {
		const no = async () => refuse("precondition_failed", "No.");
		deepEqual(await change(t, { before: no }), { code: "precondition_failed", entries: 0 });
		deepEqual(await change(t, { after: no }), { code: "precondition_failed", entries: 0 });
	});

	test("are not looked at if the actor may not make the change", async (t) => {
		const { site, staff, actors } = await open(t);
		await revokeApiToken(site.store.db, null, `tok_${staff.id}`, 1);
		const before = async (): Promise<Result<true>> => {
			throw new Error("a condition was checked");
		};
		const holder = { ...actors["a token of staff"], demands: { before } };
		const done = await transactAs(site.store, holder, STAFF, async () => succeed(true));
		equal(done.ok || done.fault.code, "revoked_token");
	});
});
