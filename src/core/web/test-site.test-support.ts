// Runs the whole site over a real store in the test's own process. Browsers store cookies and send forms as real ones
// do. There is a mailbox, a clock that the test moves, and a log that records everything.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { TestContext } from "node:test";
import type { Selectable } from "kysely";
import { makeStillClock } from "../../../test/support/clock.ts";
import { createLog, type KeptLog } from "../../../test/support/log.ts";
import { COMMAND_LINE } from "../people/actor.ts";
import "../../../test/support/quick-passwords.ts";
import { makeAppDeps, makeInstallation } from "../../../test/support/app-deps.ts";
import { SOUND_STATE } from "../../../test/support/metrics-deps.ts";
import { newProgramme } from "../../../test/support/rows.ts";
import { createMigratedSqlite } from "../../../test/support/sqlite-database.ts";
import { type AllDeps, createApp } from "../../app.ts";
import { createRandom } from "../../outside/random.ts";
import type { AuditAction } from "../domain/action.ts";
import type { ProgrammePlace } from "../domain/place.ts";
import type { ProgrammeRole } from "../domain/roles.ts";
import type { WarningSettings } from "../domain/warning.ts";
import { createMailDispatcher } from "../mail/dispatcher.ts";
import { createNetworkMailer } from "../mail/network-mailer.ts";
import { tellChanges, tellNotices } from "../mail/tell.ts";
import { acceptSignInLink } from "../people/accept-sign-in-link.ts";
import { createAuth } from "../people/auth.ts";
import { invite, inviteStaff } from "../people/invitations.ts";
import type { DiskSpace, Mail, Mailer } from "../ports.ts";
import { createNetworkCache } from "../store/network-cache.ts";
import type { Person } from "../store/queries/people.ts";
import { insertProgramme, type Programme } from "../store/queries/programmes.ts";
import { readSystem, type SystemReading } from "../store/queries/system.ts";
import type { Store } from "../store/store.ts";
import type { AuditEntriesTable } from "../store/tables/notices.ts";

export const START_MS = Date.UTC(2026, 2, 1, 12);
export const PASSWORD = "correct horse battery";
export const NEW_PASSWORD = "another horse battery";
export const SESSION_COOKIE = "__Host-ringback.session";
/** Matches a one-time link in a mail. Its groups are the path and the token. */
export const LINK = /https:\/\/ringback\.example(\/welcome\/(\w+))/;

export interface SiteOptions {
	hasMail?: boolean;
	publicUrl?: string;
	/** Value of the setting RINGBACK_BRAND, or null if it is not set. */
	brand?: string | null;
	/** Settings that the site warns about. By default the site has no warnings. */
	warned?: Partial<WarningSettings>;
	/** Parts of the installation's state that replace those read from the database. */
	read?: Partial<SystemReading>;
	readDisk?: () => Promise<DiskSpace | null>;
	change?: Partial<AllDeps>;
}

export interface TestSite {
	deps: AllDeps;
	store: Store;
	log: KeptLog;
	/** All mails that were sent so far. */
	mailbox: Mail[];
	/** Sends mails about changes and about failing callbacks. A running service does this every few seconds. */
	tellChanges(): Promise<void>;
	moveClock(byMs: number): void;
	/** Changes the network's time zone. */
	setZone(zone: string): Promise<void>;
	/** Opens a new browser. By default it has its own IP address. */
	browser(options?: BrowserOptions): Browser;
	addProgramme(name?: string): Promise<Programme>;
	/** Adds a member of staff who has accepted an invitation and chosen PASSWORD. */
	addStaff(email?: string, name?: string): Promise<Person>;
	addOwner(programme: Programme, email?: string, name?: string): Promise<Person>;
	addPerson(programme: Programme, role: ProgrammeRole): Promise<Person>;
	/** Signs the person in with a new browser. */
	signIn(person: Pick<Person, "email">): Promise<Browser>;
	/** Returns the entries of the audit log with this action. */
	audit(action: AuditAction): Promise<Selectable<AuditEntriesTable>[]>;
	/** Returns every row of every table as text, so that a test can check that a value is not stored. */
	storedText(): Promise<string>;
}

export async function openTestSite(t: TestContext, options: SiteOptions = {}): Promise<TestSite> {
	const database = await createMigratedSqlite();
	t.after(database.remove);
	const site = createTestSite(database.open(), options);
	if (options.read !== undefined) await site.deps.installation.read();
	return site;
}

/** Opens a site with a signed-in member of staff. */
export async function openAsStaff(t: TestContext, options: SiteOptions = {}) {
	const site = await openTestSite(t, options);
	const person = await site.addStaff();
	return { site, person, browser: await site.signIn(person) };
}

/** Opens a site with a programme and its signed-in owner. */
export async function openAsOwner(t: TestContext, options: SiteOptions = {}, name = "Shop") {
	const site = await openTestSite(t, options);
	const programme = await site.addProgramme(name);
	const owner = await site.addOwner(programme);
	return { site, programme, owner, browser: await site.signIn(owner) };
}

/** Creates a site over a store that is already open and migrated. */
export function createTestSite(store: Store, options: SiteOptions = {}): TestSite {
	const log = createLog();
	const mailbox: Mail[] = [];
	let nowMs = START_MS;
	const mailer: Mailer = {
		async send(mail) {
			mailbox.push(mail);
			return null;
		},
	};
	const publicUrl = options.publicUrl ?? "https://ringback.example";
	const common = {
		store,
		clock: makeStillClock(() => nowMs),
		random: createRandom(),
		log,
	};
	const base = makeAppDeps(common);
	const network = createNetworkCache(common, options.brand ?? null);
	const networkMailer =
		options.hasMail === true ? createNetworkMailer(mailer, network, publicUrl, common.clock) : null;
	const mails = createMailDispatcher({ ...base, mailer: networkMailer });
	const deps: AllDeps = {
		...base,
		publicUrl,
		network,
		mailer: networkMailer,
		mails,
		installation: makeInstallation({
			...common,
			settings: { ...SOUND_STATE.settings, ...options.warned },
			readSystem: async () => ({ ...(await readSystem(store.db, START_MS)), ...options.read }),
			...(options.readDisk === undefined ? {} : { readDisk: options.readDisk }),
		}),
		transport: { lookUp: async () => ({ ok: true, addresses: ["93.184.215.14"] }) },
		...options.change,
	};
	const app = createApp(deps);
	const auth = createAuth(deps);
	const request: Request = async (path, init, env) => {
		const answer = await app.request(path, init, env);
		// Mails are sent in the background, so the test waits for them before it looks into the mailbox.
		await mails.settled();
		return answer;
	};

	/** Lets a person join a programme, or the staff if the place is null. */
	async function join(email: string, name: string, place: ProgrammePlace | null): Promise<Person> {
		const invited = await (place === null
			? inviteStaff(deps, COMMAND_LINE, email)
			: invite(deps, COMMAND_LINE, place, email));
		assert.ok(invited.ok && invited.value.link !== null);
		const token = new URL(invited.value.link).pathname.split("/").at(-1) ?? "";
		const accepted = await acceptSignInLink({ ...deps, auth }, token, { email, name, password: PASSWORD });
		assert.ok(accepted.ok);
		await mails.settled();
		mailbox.length = 0;
		// The person was only added to prepare the test, so no mail about it may be sent later.
		await store.db.deleteFrom("changes_to_tell").execute();
		return accepted.value.person;
	}

	return {
		deps,
		store,
		log,
		mailbox,
		async tellChanges() {
			await tellChanges(deps, () => false);
			await tellNotices(deps, () => false);
			await mails.settled();
		},
		setZone: async (zone) => {
			await store.db.updateTable("network").set({ time_zone: zone }).execute();
			network.forget();
		},
		moveClock: (byMs) => {
			nowMs += byMs;
		},
		browser: (browserOptions) => new Browser(request, { nowMs: () => nowMs, ...browserOptions }),
		addProgramme: (name = "Shop") =>
			store.transact((trx) =>
				insertProgramme(
					trx,
					newProgramme({ name, commission_rate: "8.0000", fee_rate: "2.5000", created_at_ms: nowMs }),
				),
			),
		addStaff: (email = newEmail("network"), name = "Sam Staff") => join(email, name, null),
		addOwner: (programme, email = newEmail("shop"), name = "Olga Owner") =>
			join(email, name, { kind: "programme", programme, role: "owner" }),
		addPerson: (programme, role) =>
			join(newEmail("shop"), `Some ${role}`, { kind: "programme", programme, role }),
		async signIn({ email }) {
			const browser = new Browser(request, { nowMs: () => nowMs });
			await browser.open("/sign-in");
			const answer = await browser.submit("/sign-in", { email, password: PASSWORD });
			assert.equal(answer.status, 303, answer.text);
			return browser;
		},
		audit: (action) =>
			store.db.selectFrom("audit_entries").selectAll().where("action", "=", action).execute(),
		storedText: () => readEverything(store),
	};
}

type Request = (path: string, init: RequestInit, env: object) => Response | Promise<Response>;

export interface Shown {
	status: number;
	headers: Headers;
	text: string;
	/** Target of a redirect, or null if the response is not a redirect. */
	location: string | null;
	setCookies: readonly string[];
}

export interface BrowserOptions {
	address?: string;
	headers?: Readonly<Record<string, string>>;
	nowMs?: () => number;
}

let browsers = 0;

export class Browser {
	readonly cookies = new Map<string, string>();
	readonly nowMs: () => number;
	readonly #request: Request;
	readonly #headers: Readonly<Record<string, string>>;
	readonly #address: string;

	constructor(request: Request, { address, headers = {}, nowMs = Date.now }: BrowserOptions = {}) {
		browsers += 1;
		this.nowMs = nowMs;
		this.#request = request;
		this.#headers = headers;
		this.#address = address ?? `198.18.${browsers >> 8}.${browsers & 255}`;
	}

	/** Opens a page. Redirects are not followed, so that tests can check them. */
	open(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Shown> {
		return this.send(path, { headers: { accept: "text/html", ...headers } });
	}

	/**
	 * Submits a form as a page of the site would. `headers` replaces the headers that name the form's origin.
	 */
	submit(
		path: string,
		fields: Readonly<Record<string, string>>,
		{ headers }: { headers?: Readonly<Record<string, string>> } = {},
	): Promise<Shown> {
		return this.submitForm(path, new URLSearchParams(fields), headers);
	}

	/** Submits a form that may have repeated fields or a file. */
	submitForm(
		path: string,
		body: URLSearchParams | FormData,
		headers: Readonly<Record<string, string>> = { "sec-fetch-site": "same-origin" },
	): Promise<Shown> {
		return this.send(path, { method: "POST", headers: { accept: "text/html", ...headers }, body });
	}

	/** Sends any request with this browser's cookies. */
	async send(
		path: string,
		init: RequestInit & { headers?: Readonly<Record<string, string>> },
	): Promise<Shown> {
		const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
		const headers = { ...this.#headers, ...init.headers, ...(cookie === "" ? {} : { cookie }) };
		const env = { incoming: { socket: { remoteAddress: this.#address } } };
		const response = await this.#request(path.replace(/#.*$/, ""), { ...init, headers }, env);
		const text = await readAnswer(response);
		const setCookies = response.headers.getSetCookie();
		for (const line of setCookies) this.#keep(line);
		const location = response.headers.get("location");
		return { status: response.status, headers: response.headers, text, location, setCookies };
	}

	#keep(line: string): void {
		const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
		if (/;\s*max-age=0\b/i.test(line)) this.cookies.delete(name);
		else this.cookies.set(name, value);
	}
}

/** Returns the hidden fields of a page with one form, as a browser would send them back. */
export function hiddenFieldsOf(page: string): Record<string, string> {
	const fields = page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g);
	const read = (text: string) =>
		text
			.replaceAll("&quot;", '"')
			.replaceAll("&#39;", "'")
			.replaceAll("&lt;", "<")
			.replaceAll("&gt;", ">")
			.replaceAll("&amp;", "&");
	return Object.fromEntries([...fields].map(([, name = "", value = ""]) => [name, read(value)]));
}

export function newEmail(organisation: "shop" | "network"): string {
	return `${randomBytes(4).toString("hex")}@${organisation}.example`;
}

async function readEverything({ db }: Store): Promise<string> {
	const tables = await db.introspection.getTables();
	const texts: string[] = [];
	for (const { name } of tables) {
		const rows = await db
			.selectFrom(name as "people")
			.selectAll()
			.execute();
		texts.push(`${name}: ${JSON.stringify(rows)}`);
	}
	return texts.join("\n");
}

/** Returns the text of an answer. A stream of events never ends, so it is closed and its text is empty. */
async function readAnswer(response: Response): Promise<string> {
	if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response.text();
	await response.body?.cancel();
	return "";
}
