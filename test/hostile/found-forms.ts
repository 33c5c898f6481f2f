// Finds every form of the site with all its fields, and every parameter of its pages. The pages show them as browsers see
// them. Those that no page shows are found when the service reads them.

import type { TestContext } from "node:test";
import { HonoRequest } from "hono/request";
import type { Db, Store } from "#core/store/store.ts";
import { type EveryPage, FIELDS, type Visitor } from "#core/web/every-page.test-support.ts";
import type { Access, Route } from "#core/web/routes.ts";
import { type Browser, NEW_PASSWORD, PASSWORD, type Shown } from "#core/web/test-site.test-support.ts";
import { SITE_LISTS } from "../../src/site-modules.ts";

export interface FoundForm {
	route: Route;
	fields: Map<string, FoundField>;
	/** Sends the form, with some values changed. */
	send(changes?: Readonly<Record<string, string>>): Promise<Shown>;
}

export interface FoundField {
	/** A value that the form accepts. */
	value: string;
	/** The values that a browser can choose, or null for a text. */
	options: readonly string[] | null;
	/** True for a text area and a hidden field, which may have a list of items. */
	mayBeList?: boolean;
}

export interface FoundPage {
	route: Route;
	/** Names of the parameters in its address. */
	parameters: Set<string>;
	open(query?: string, headers?: Readonly<Record<string, string>>): Promise<Shown>;
}

/** The visitor who opens each page and sends its forms. */
const VISITORS: Readonly<Record<Access, Visitor>> = {
	anyone: "nobody",
	"signed-in": "owner",
	programme: "owner",
	"programme-integrate": "owner",
	"programme-decide": "owner",
	"programme-manage": "owner",
	partner: "partner",
	"partner-manage": "staff",
	staff: "staff",
	"account-authenticator": "staff",
};

/** Values of fields that are empty or not shown, so that each form reaches its use case. */
const VALUES: Readonly<Record<string, string>> = {
	...FIELDS,
	...{ password: PASSWORD, currentPassword: PASSWORD, newPassword: NEW_PASSWORD, code: "123456" },
	...{ commissionRate: "8", feeRate: "2", amount: "0.50", programme: "Victim", about: "A blog" },
	...{ address: "1 Main Street", country: "DE", acceptsTerms: "on", target: "https://shop.example/" },
};

export interface FoundSite {
	forms: readonly FoundForm[];
	pages: readonly FoundPage[];
	/** Names of the headers that the service reads. */
	headers: ReadonlySet<string>;
}

/** Finds all forms and pages. Every transaction is rolled back, after the visitors have signed in. */
export async function findForms(t: TestContext, service: EveryPage): Promise<FoundSite> {
	const { namesRead, headers } = watchNames(t);
	const browsers = new Map<Visitor, Browser>();
	for (const visitor of new Set(Object.values(VISITORS))) browsers.set(visitor, await service.visit(visitor));
	const browserOf = ({ access }: Route) => browsers.get(VISITORS[access]) ?? service.shop.site.browser();
	rollBack(service.shop.site.store);
	const forms = SITE_LISTS.routes
		.filter(({ method }) => method === "POST")
		.map((route): FoundForm => {
			const fields = new Map<string, FoundField>();
			const send = (changes = {}) => sendForm(service, browserOf(route), route, fields, changes);
			return { route, fields, send };
		});
	const pages: FoundPage[] = [];
	for (const route of SITE_LISTS.routes.filter(({ method }) => method === "GET")) {
		const path = service.pathOf(route);
		const open = (query = "", headers = {}) => {
			service.shop.site.moveClock(1_000);
			return browserOf(route).open(query === "" ? path : `${path}?${query}`, headers);
		};
		namesRead.clear();
		const { text } = await open();
		const page = { route, parameters: new Set([...namesRead, ...readParameters(text, path)]), open };
		pages.push(page);
		for (const shown of readForms(text)) {
			const form = forms.find((each) => service.pathOf(each.route) === shown.action);
			for (const [name, field] of shown.fields) addField(form, name, field);
		}
	}
	for (const form of forms) {
		let known: number;
		do {
			known = form.fields.size;
			namesRead.clear();
			await form.send();
			for (const name of namesRead) addField(form, name, { value: "", options: null });
		} while (form.fields.size > known);
	}
	return { forms, pages, headers };
}

function addField(form: FoundForm | undefined, name: string, field: FoundField): void {
	const { value, options } = field;
	if (form === undefined || form.fields.has(name)) return;
	const chosen = value === "" ? (VALUES[name] ?? options?.find((option) => option !== "") ?? "") : value;
	form.fields.set(name, { ...field, value: chosen });
}

/** Sends the form as multipart, in which no character needs to be encoded. */
async function sendForm(
	service: EveryPage,
	browser: Browser,
	route: Route,
	fields: FoundForm["fields"],
	changes: Readonly<Record<string, string>>,
): Promise<Shown> {
	const { site } = service.shop;
	const boundary = "----form-boundary-7d1c";
	const parts = [...fields].map(
		([name, { value }]) =>
			`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${changes[name] ?? value}\r\n`,
	);
	const headers = {
		accept: "text/html",
		"sec-fetch-site": "same-origin",
		"content-type": `multipart/form-data; boundary=${boundary}`,
	};
	// Limits of tries, rates and delays are not what these tests are about.
	site.moveClock(1_000);
	await site.store.db.deleteFrom("limit_counts").execute();
	const body = Buffer.from(`${parts.join("")}--${boundary}--\r\n`);
	return browser.send(service.pathOf(route), { method: "POST", headers, body });
}

/** Returns sets to which the names of fields, parameters and headers are added that the service reads from a request. */
function watchNames(t: TestContext) {
	const names = new Set<string>();
	const headers = new Set<string>();
	const watch = <Values extends object>(values: Values): Values =>
		new Proxy(values, {
			get(target, name) {
				if (typeof name === "string" && name !== "then") names.add(name);
				return Reflect.get(target, name);
			},
		});
	const { parseBody, query, header } = HonoRequest.prototype;
	async function parseWatched(this: HonoRequest, ...options: Parameters<typeof parseBody>) {
		return watch(await parseBody.apply(this, options));
	}
	function queryWatched(this: HonoRequest, name?: string) {
		if (name === undefined) return watch(query.apply(this));
		names.add(name);
		return (query as (name: string) => unknown).call(this, name);
	}
	function headerWatched(this: HonoRequest, name: string) {
		headers.add(name.toLowerCase());
		return (header as (name: string) => unknown).call(this, name);
	}
	// The mocks of the test runner would keep every request.
	Object.assign(HonoRequest.prototype, {
		parseBody: parseWatched,
		query: queryWatched,
		header: headerWatched,
	});
	t.after(() => Object.assign(HonoRequest.prototype, { parseBody, query, header }));
	return { namesRead: names, headers };
}

/** Rolls back every transaction after its work was done, so that every form is sent to the same service. */
function rollBack(store: Store): void {
	const { transact } = store;
	async function rolledBack<Value>(run: (trx: Db) => Promise<Value>): Promise<Value> {
		const done: { value?: Value } = {};
		const stop = new Error("rolled back");
		await transact(async (trx) => {
			done.value = await run(trx);
			throw stop;
		}).catch((error: unknown) => {
			if (error !== stop) throw error;
		});
		return done.value as Value;
	}
	store.transact = rolledBack;
}

/** Returns the names of the parameters with which a page links to itself, and those of its filters. */
function readParameters(markup: string, path: string): string[] {
	const links = [...markup.matchAll(/href="([^"?]*)\?([^"]*)"/g)].filter(([, target]) => target === path);
	const linked = links.flatMap(([, , query = ""]) => [...new URLSearchParams(decode(query)).keys()]);
	const filters = [...markup.matchAll(/<form [^>]*method="get"[^>]*>(.*?)<\/form>/gs)];
	return [...linked, ...filters.flatMap(([, body = ""]) => [...readFields(body).keys()])];
}

/** Reads the forms of a page of ours, whose markup is regular. */
function readForms(markup: string) {
	return [...markup.matchAll(/<form method="post"([^>]*)>(.*?)<\/form>/gs)].map(
		([, tag = "", body = ""]) => ({
			action: attribute(tag, "action"),
			fields: readFields(body),
		}),
	);
}

function readFields(body: string): Map<string, FoundField> {
	const fields = new Map<string, FoundField>();
	const controls = /<(input)\b([^>]*)>|<(select|textarea|button)\b([^>]*)>(.*?)<\/\3>/gs;
	for (const [, input, inputTag = "", kind = "", kindTag = "", content = ""] of body.matchAll(controls)) {
		const tag = input === undefined ? kindTag : inputTag;
		const name = attribute(tag, "name");
		if (name === undefined) continue;
		const value = attribute(tag, "value") ?? "";
		const type = input === undefined ? kind : (attribute(tag, "type") ?? "text");
		const known = fields.get(name)?.options ?? [];
		if (type === "select") fields.set(name, readOptions(content));
		else if (type === "textarea")
			fields.set(name, { value: decode(content).trim(), options: null, mayBeList: true });
		else if (type === "button") fields.set(name, { value, options: [...known, value] });
		else if (type === "hidden") fields.set(name, { value, options: [value], mayBeList: true });
		else if (type === "checkbox") fields.set(name, { value, options: [value] });
		else if (type !== "file") fields.set(name, { value, options: null });
	}
	return fields;
}

function readOptions(content: string): FoundField {
	const tags = [...content.matchAll(/<option\b([^>]*)>/g)].map(([, tag = ""]) => tag);
	const options = tags.map((tag) => attribute(tag, "value") ?? "");
	const chosen = tags.findIndex((tag) => /\sselected\b/.test(tag));
	return { value: options[Math.max(0, chosen)] ?? "", options };
}

function attribute(tag: string, name: string): string | undefined {
	const [, value] = new RegExp(`\\s${name}="([^"]*)"`).exec(tag) ?? [];
	return value === undefined ? undefined : decode(value);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

function decode(text: string): string {
	return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? "");
}
