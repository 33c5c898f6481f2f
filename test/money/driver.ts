// A network with programmes in three currencies, as its people and programs use it: calls of shops, of the network and of
// partners, pages, uploaded files, and receivers of callbacks. Only the network's own settings are made by use cases.

import { equal, ok } from "node:assert/strict";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { changeNetwork } from "#core/programmes/network.ts";
import { findPartner } from "#core/store/queries/partners.ts";
import { Browser, PASSWORD } from "#core/web/test-site.test-support.ts";
import { savePayoutSettings } from "#modules/accounts/use-cases/payout-settings.ts";
import { CalledPartner } from "../support/called-partner.ts";
import type { RunningService } from "../support/running-service.ts";
import { expectValue } from "../support/shop-account.ts";
import type { ShopProgramme } from "../support/shop-programme.ts";
import type { ModelProgramme, OwnCommission, ProgrammeRates } from "./model.ts";

export type Json = Readonly<Record<string, unknown>>;

/** The parts of an answer that the comparison reads. */
export interface CallAnswer {
	status: number;
	json: Json;
}

export interface DrivenPartner {
	name: string;
	id: string;
	called: CalledPartner;
	browser: Browser;
	token: string;
	hasDetails: boolean;
}

export interface DrivenProgramme {
	name: string;
	shop: ShopProgramme;
	/** Ids of the partnerships by the partner's name. */
	partnerships: Map<string, string>;
}

const HOST = "shop.example";
/** Time that the clock moves for each millisecond of waiting for a job. The service looks for jobs once a second. */
const JOB_TICK_MS = 100;
export const IBAN = "DE89370400440532013000";

export class Driver {
	readonly running: RunningService;
	readonly programmes = new Map<string, DrivenProgramme>();
	readonly partners = new Map<string, DrivenPartner>();
	/** Addresses of the people by their browsers. */
	readonly #emails = new Map<Browser, string>();
	#staff: Browser | undefined;
	#owner: Browser | undefined;
	#token = "";

	constructor(running: RunningService) {
		this.running = running;
	}

	get nowMs(): number {
		return this.running.clock.nowMs();
	}

	/** The browser of a member of staff. */
	get staff(): Browser {
		ok(this.#staff);
		return this.#staff;
	}

	/** The browser of the owner of all programmes. */
	get owner(): Browser {
		ok(this.#owner);
		return this.#owner;
	}

	/** Prepares the network, and moves the clock to its first day. */
	async open(firstDayMs: number): Promise<void> {
		const { service, clock } = this.running;
		// The link for the first member of staff is valid for a day.
		this.#staff = await this.#accept(service.welcomeLink, "staff@network.example");
		await clock.moveTo(firstDayMs);
		await this.signIn();
		expectValue(await changeNetwork(service, COMMAND_LINE, { timeZone: "Europe/Berlin" }));
		this.#token = await issueToken(this.staff, "/network/tokens", { name: "Books", right: "manage" });
	}

	async setMinimums(minimums: ReadonlyMap<string, string>): Promise<void> {
		const input = { postalAddress: "1 Main Street", minimums };
		expectValue(await savePayoutSettings(this.running.service, COMMAND_LINE, input));
	}

	async addProgramme(
		{ name, currency, approvalDays, creditsPartners }: Omit<ModelProgramme, "rates" | "members">,
		rates: ProgrammeRates,
	): Promise<void> {
		const shop = await this.running.openProgramme({ name, currency, approvalDays });
		const isFirst = this.programmes.size === 0;
		this.programmes.set(name, { name, shop, partnerships: new Map() });
		await this.setRates(name, rates);
		const path = `/v1/network/programmes/${shop.programId}`;
		await this.network("PATCH", `${path}/partners`, { creditsPartners, hosts: [HOST] });
		const email = "owner@shop.example";
		const invited = await this.network("POST", `${path}/people`, { reference: name, email, role: "owner" });
		if (isFirst) this.#owner = await this.#accept(text(invited["link"]), email);
	}

	async setRates(name: string, rates: ProgrammeRates): Promise<void> {
		await this.network("PATCH", `/v1/network/programmes/${this.programme(name).shop.programId}`, {
			commission: rates.commission,
			networkFee: rates.fee,
			eventRates: Object.entries(rates.byType).map(([eventType, { commission, fee }]) => ({
				...{ eventType, commission, networkFee: fee },
			})),
		});
	}

	async addPartner(name: string, hasDetails: boolean): Promise<void> {
		const { running } = this;
		const email = `${name.toLowerCase()}@blog.example`;
		const created = await this.network("POST", "/v1/network/partners", { reference: name, name, email });
		const id = text(part(created, "partner", "id"));
		const browser = await this.#accept(text(part(created, "invitation", "link")), email);
		const partner = await findPartner(running.service.store.db, id);
		ok(partner);
		const called = new CalledPartner(running, await running.startPartner(), { partner, partnershipId: 0 });
		await called.saveUrl("/events");
		const token = await issueToken(browser, `/partner/${id}/api`, { name: "Books" });
		if (hasDetails) {
			const details = {
				payee: `${name} Ltd`,
				address: "2 Side Street",
				country: "DE",
				vatId: "",
				iban: IBAN,
			};
			const rest = { bic: "", account: "", currentPassword: PASSWORD };
			const path = `/partner/${id}/payment-details`;
			equal((await browser.submit(path, { ...details, ...rest })).location, path);
		}
		this.partners.set(name, { name, id, called, browser, token, hasDetails });
	}

	/** Adds the partner to the programme, with a coupon code and a link, which are named after it. */
	async join(programmeName: string, partnerName: string, own: OwnCommission): Promise<void> {
		const programme = this.programme(programmeName);
		const added = await this.network("POST", "/v1/network/partnerships", {
			reference: `${programmeName} ${partnerName}`.replaceAll(" ", "-"),
			programId: programme.shop.programId,
			partnerId: this.partner(partnerName).id,
		});
		const id = text(added["id"]);
		programme.partnerships.set(partnerName, id);
		await this.setCommission(programmeName, partnerName, own);
		const path = `/v1/network/partnerships/${id}`;
		await this.network("POST", `${path}/codes`, { code: codeOf(partnerName) });
		const code = linkOf(programmeName, partnerName);
		await this.network("POST", `${path}/links`, { target: `https://${HOST}/`, code });
	}

	async setCommission(programmeName: string, partnerName: string, own: OwnCommission): Promise<void> {
		const id = this.programme(programmeName).partnerships.get(partnerName) ?? "";
		await this.network("PATCH", `/v1/network/partnerships/${id}`, {
			commission: own.general,
			eventRates: Object.entries(own.byType).map(([eventType, commission]) => ({ eventType, commission })),
		});
	}

	programme(name: string): DrivenProgramme {
		const found = this.programmes.get(name);
		ok(found, name);
		return found;
	}

	partner(name: string): DrivenPartner {
		const found = this.partners.get(name);
		ok(found, name);
		return found;
	}

	/** Makes a call with the network's token, which must be answered. */
	async network(method: string, target: string, body?: object): Promise<Json> {
		return this.#callWithToken(this.#token, method, target, body);
	}

	/** Makes a call with the partner's token. */
	async asPartner(name: string, target: string): Promise<Json> {
		return this.#callWithToken(this.partner(name).token, "GET", target);
	}

	/** Reads all pages of a list. */
	async readAll(read: (target: string) => Promise<Json>, target: string): Promise<Json[]> {
		const items: Json[] = [];
		for (let next = ""; ; ) {
			const page = await read(`${target}${target.includes("?") ? "&" : "?"}limit=200${next}`);
			items.push(...list(page["items"]));
			if (page["next"] === null) return items;
			next = `&cursor=${text(page["next"])}`;
		}
	}

	async #callWithToken(token: string, method: string, target: string, body?: object): Promise<Json> {
		for (;;) {
			const response = await fetch(this.running.service.url + target, {
				method,
				headers: {
					authorization: `Bearer ${token}`,
					connection: "close",
					...(body === undefined ? {} : { "content-type": "application/json" }),
				},
				...(body === undefined ? {} : { body: JSON.stringify(body) }),
			});
			const answer = await response.text();
			// Totals are counted in the background.
			if (response.status !== 503) {
				ok(response.ok, `${method} ${target}: ${response.status} ${answer}`);
				return JSON.parse(answer);
			}
			await this.running.clock.moveBy(1_000);
		}
	}

	/** Clicks on the partner's link, and returns the click ID. */
	async click(programmeName: string, partnerName: string): Promise<string> {
		const url = `${this.running.service.url}/c/${linkOf(programmeName, partnerName)}`;
		const headers = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0", connection: "close" };
		const answer = await fetch(url, { headers, redirect: "manual" });
		await answer.arrayBuffer();
		return new URL(answer.headers.get("location") ?? "").searchParams.get("rbclick") ?? "";
	}

	async callAsShop(programmeName: string, path: string, body: object): Promise<CallAnswer> {
		const { status, json } = await this.programme(programmeName).shop.call("POST", path, { body });
		return { status, json: { ...json } };
	}

	/** Signs everybody in again, because the clock passes the end of sessions. */
	async signIn(): Promise<void> {
		for (const [browser, email] of this.#emails) {
			const answer = await browser.submit("/sign-in", { email, password: PASSWORD });
			equal(answer.status, 303, answer.text);
		}
	}

	/** Waits until all callbacks that are due have arrived and their results are stored. */
	async settle(): Promise<void> {
		const { service, clock } = this.running;
		const due = () =>
			service.store.db.selectFrom("queue").select("id").where("due_at_ms", "<=", clock.nowMs());
		await this.running.until(
			"all callbacks have been sent",
			async () => (await due().executeTakeFirst()) === undefined,
		);
	}

	/** Moves the clock. Nothing may be on its way, because its deadline would pass. */
	async moveTo(atMs: number): Promise<void> {
		await this.settle();
		await this.running.clock.moveTo(atMs);
	}

	/** Waits until the service has approved everything whose approval window has ended. */
	async windowsEnded(): Promise<void> {
		const { service, clock } = this.running;
		await this.running.until("all ended windows are processed", async () => {
			const due = service.store.db
				.selectFrom("conversions")
				.select("id")
				.where("status", "=", "RECORDED")
				.where("window_ends_at_ms", "<=", clock.nowMs());
			return (await due.executeTakeFirst()) === undefined;
		});
	}

	/** Opens a page that must be there. */
	async page(browser: Browser, path: string): Promise<string> {
		const shown = await browser.open(path);
		equal(shown.status, 200, `${path}: ${shown.status}`);
		return shown.text;
	}

	/** Opens a page with sums that are counted in the background. The count is newer than this call. */
	async countedPage(browser: Browser, path: string): Promise<string> {
		await this.#forgetCounts();
		let page = "";
		await this.running.until(`${path} shows a count`, async () => {
			page = await this.page(browser, path);
			return !/hx-trigger="every|Being counted/.test(page);
		});
		return page;
	}

	/** Calls for sums that are counted in the background. The count is newer than this call. */
	async countedCall(call: () => Promise<Json>): Promise<Json> {
		await this.#forgetCounts();
		const sinceMs = this.nowMs;
		let answer: Json = {};
		await this.running.until("a new count is made", async () => {
			answer = await call();
			return Date.parse(text(answer["countedAt"])) >= sinceMs;
		});
		return answer;
	}

	/** Lets the clock pass the time for which the last count is shown. */
	async #forgetCounts(): Promise<void> {
		await this.running.clock.moveBy(1_000);
	}

	/** Waits until a job is in a state, and returns its page. */
	async jobPage(browser: Browser, path: string, state: "previewed" | "done"): Promise<string> {
		const { service } = this.running;
		const id = path.split("/").at(-1) ?? "";
		const job = service.store.db.selectFrom("jobs").select("state").where("public_id", "=", id);
		const isReached = async () => [state, "done"].includes((await job.executeTakeFirst())?.state ?? "");
		await this.running.until(`the job is ${state}`, isReached, JOB_TICK_MS);
		return this.page(browser, path);
	}

	/** Uploads a file, and returns the path of its job. */
	async upload(browser: Browser, path: string, lines: readonly string[]): Promise<string> {
		const form = new FormData();
		form.set("file", new File([lines.join("\n")], "file.csv", { type: "text/csv" }));
		const { status, location, text: page } = await browser.submitForm(path, form);
		equal(status, 303, page);
		return location ?? "";
	}

	/** Follows an invitation in a new browser, and stays signed in there. */
	async #accept(link: string | null, email: string): Promise<Browser> {
		const { url } = this.running.service;
		const browser = new Browser((path, init) => fetch(url + path, { ...init, redirect: "manual" }), {
			headers: { connection: "close" },
		});
		const path = new URL(link ?? "").pathname;
		await browser.open(path);
		const accepted = await browser.submit(path, { email, name: "Some Person", password: PASSWORD });
		equal(accepted.status, 303, accepted.text);
		this.#emails.set(browser, email);
		return browser;
	}
}

/** Issues a token on its page, and returns it as the page shows it. */
async function issueToken(browser: Browser, path: string, fields: Record<string, string>): Promise<string> {
	const { text: page } = await browser.submit(path, { ...fields, currentPassword: PASSWORD });
	const [token] = /rb[np]_[0-9a-f]{64}/.exec(page) ?? [];
	ok(token, page);
	return token;
}

export function codeOf(partnerName: string): string {
	return `${partnerName}10`;
}

function linkOf(programmeName: string, partnerName: string): string {
	return `${programmeName}-${partnerName}`;
}

export function text(value: unknown): string {
	ok(typeof value === "string", `${JSON.stringify(value)} is no text`);
	return value;
}

/** Returns a part of an answer. */
export function part(value: unknown, ...path: readonly (string | number)[]): unknown {
	return path.reduce<unknown>((found, name) => Object(found)[name], value);
}

export function list(value: unknown): Json[] {
	ok(Array.isArray(value), `${JSON.stringify(value)} is no list`);
	return value;
}
