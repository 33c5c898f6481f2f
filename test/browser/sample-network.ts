// A network that has been running for a month: staff, shops and their people, one shop with a history, one that has
// only begun, one in trouble. People come in by the pages, as they do.

import type { Browser } from "playwright-core";
import type { ProgrammeRole } from "../../src/domain/roles.ts";
import { DAY_MS, HOUR_MS } from "../../src/domain/time.ts";
import { invitePerson } from "../../src/people/invitations.ts";
import { issueKey } from "../../src/programmes/keys.ts";
import type { Service } from "../../src/service.ts";
import { findProgramme, type Programme, setEndpoint } from "../../src/store/queries/programmes.ts";
import { newNotice } from "../support/notices.ts";
import { addDeliveries } from "../support/rows.ts";
import { expectValue } from "../support/shop-account.ts";
import { becomeFirstStaff, createProgramme, joinAsOwner, nameNetwork } from "./first-steps.ts";
import { OUTAGE_DAYS_AGO, SAMPLE_PATH } from "./sample-answers.ts";
import { writeHistory } from "./sample-history.ts";
import { openVisitor } from "./visitor.ts";

/** Cookies of somebody who is signed in. */
type SignedIn = Awaited<ReturnType<Awaited<ReturnType<typeof openVisitor>>["context"]["storageState"]>>;

export interface SampleNetwork {
	staff: SignedIn;
	owner: SignedIn;
	/** Of the same programme, and may only look. */
	viewer: SignedIn;
	/** Paths of the programmes: with a month behind it, where nothing has happened yet, and whose callbacks are failing. */
	main: string;
	fresh: string;
	failing: string;
}

export interface SampleOptions {
	mainName?: string;
	sales: number;
	orderIds?: readonly string[];
}

const OWNER = "jonas@nordlicht.example";

export async function fillSampleNetwork(
	browser: Browser,
	service: Service,
	options: SampleOptions,
): Promise<SampleNetwork> {
	const staff = await openVisitor(browser, service.url);
	await becomeFirstStaff(staff.page, service.welcomeLink);
	await nameNetwork(staff.page, "Acme Partners", "Service");
	const link = await createProgramme(staff.page, {
		name: options.mainName ?? "Nordlicht Outdoor",
		ownerEmail: OWNER,
	});
	const owner = await openVisitor(browser, service.url);
	const main = await joinAsOwner(owner.page, link);
	await createProgramme(staff.page, { name: "Velo & Faden", ownerEmail: "hanna@velofaden.example" });
	const blum = { name: "Rösterei Blum", ownerEmail: "karim@blum.example", commission: "12" };
	const newcomer = await openVisitor(browser, service.url);
	const fresh = await joinAsOwner(newcomer.page, await createProgramme(staff.page, blum), "Karim Haddad");
	await newcomer.leave();
	const viewer = await openVisitor(browser, service.url);
	await joinAsOwner(viewer.page, await inviteMore(service, await findByPath(service, main)), "Vera Blick");
	await fillMain(service, await findByPath(service, main), options);
	const failing = await breakShop(service, "Velo & Faden");
	const site = {
		staff: await staff.context.storageState(),
		owner: await owner.context.storageState(),
		viewer: await viewer.context.storageState(),
		main,
		fresh,
		failing,
	};
	await staff.leave();
	await owner.leave();
	await viewer.leave();
	return site;
}

async function findByPath({ store }: Service, path: string): Promise<Programme> {
	const programme = await findProgramme(store.db, path.split("/").at(-1) ?? "");
	if (programme === undefined) throw new Error(`no programme at ${path}`);
	return programme;
}

/** Invited, and not yet there. Resolves to the link of somebody who is to look on. */
async function inviteMore(service: Service, programme: Programme): Promise<string> {
	const deps = { ...service, publicUrl: service.url };
	const invite = async (email: string, role: ProgrammeRole) =>
		expectValue(await invitePerson(deps, { email, membership: { programme, role }, invitedBy: null }));
	await invite("buchhaltung@nordlicht.example", "developer");
	const colleague = { email: "tomasz@network.example", membership: null, invitedBy: null };
	expectValue(await invitePerson(deps, colleague));
	return (await invite("vera@nordlicht.example", "viewer")).link ?? "";
}

async function fillMain(
	service: Service,
	{ id, public_id }: Programme,
	options: SampleOptions,
): Promise<void> {
	const { store, clock } = service;
	const endMs = clock.nowMs();
	const monthAgoMs = endMs - 31 * DAY_MS;
	const past = { ...service, clock: { ...clock, nowMs: () => monthAgoMs } };
	const { secret } = expectValue(await issueKey(past, public_id, null));
	await store.db
		.updateTable("api_keys")
		.set({ last_used_at_ms: endMs })
		.where("programme_id", "=", id)
		.execute();
	await setEndpoint(store.db, id, `https://shop.nordlicht.example${SAMPLE_PATH}`, monthAgoMs);
	await store.db
		.updateTable("programmes")
		.set({
			approval_days: 14,
			parked_days: 20,
			created_at_ms: monthAgoMs,
			first_signed_at_ms: monthAgoMs,
			first_pixel_at_ms: monthAgoMs,
			first_callback_at_ms: monthAgoMs,
		})
		.where("id", "=", id)
		.execute();
	const programme = await findProgramme(store.db, public_id);
	if (programme === undefined || secret === null) throw new Error("the programme was just made");
	await writeHistory({ ...options, store, programme, secret, endMs, seed: 7 });
	await writeNotices(service, programme, endMs);
}

/** Its server is down: three orders wait, and one has failed for good. */
async function breakShop({ store, clock }: Service, name: string): Promise<string> {
	const nowMs = clock.nowMs();
	const { id, public_id } = await store.db
		.selectFrom("programmes")
		.select(["id", "public_id"])
		.where("name", "=", name)
		.executeTakeFirstOrThrow();
	await setEndpoint(store.db, id, `https://velofaden.example${SAMPLE_PATH}`, nowMs - DAY_MS);
	const programme = await findProgramme(store.db, public_id);
	if (programme === undefined) throw new Error("the programme was just read");
	const inAnHour = nowMs + HOUR_MS;
	const [lost = 0, ...waiting] = await addDeliveries(
		store,
		programme,
		inAnHour,
		inAnHour,
		inAnHour,
		inAnHour,
	);
	const failed = { state: "failed", attempts: 7, finished_at_ms: nowMs, failed_at_ms: nowMs } as const;
	await store.db.updateTable("deliveries").set(failed).where("id", "=", lost).execute();
	await store.db.deleteFrom("queue").where("id", "=", lost).execute();
	const notice = newNotice(id, {
		opened_at_ms: nowMs - DAY_MS,
		told_at_ms: nowMs - DAY_MS,
		failed_attempts: 19,
		last_failed_at_ms: nowMs - HOUR_MS,
		last_delivery_id: waiting.at(-1) ?? null,
		last_result: "network-error",
		last_verdict: "retry",
		last_http_status: null,
		last_detail: "ECONNREFUSED (connect)",
	});
	await store.db.insertInto("notices").values(notice).execute();
	return `/programmes/${public_id}`;
}

async function writeNotices({ store }: Service, { id }: Programme, endMs: number): Promise<void> {
	const startedMs = endMs - OUTAGE_DAYS_AGO * DAY_MS;
	const failed = await store.db
		.selectFrom("deliveries")
		.select("id")
		.where("programme_id", "=", id)
		.where("last_http_status", "=", 404)
		.execute();
	const endedMs = startedMs + DAY_MS * 0.6;
	const common = { mailed_to: OWNER, told_at_ms: startedMs };
	const failures = Math.max(1, failed.length);
	const notices = [
		newNotice(id, {
			...common,
			opened_at_ms: startedMs,
			ended_at_ms: endedMs,
			ended_by: "success",
			failed_attempts: 12 + failed.length,
			failures,
			mailed_failures: failures,
			mailed_at_ms: startedMs + DAY_MS / 3,
			last_delivery_id: failed.at(-1)?.id ?? null,
			last_failed_at_ms: startedMs + DAY_MS / 3,
		}),
		newNotice(id, {
			...common,
			kind: "callbacks_working_again",
			opened_at_ms: endedMs,
			failed_attempts: 0,
			failures: 0,
			mailed_at_ms: endedMs + 1_000,
			...{ last_failed_at_ms: null, last_result: null, last_verdict: null, last_http_status: null },
		}),
	];
	await store.db.insertInto("notices").values(notices).execute();
}
