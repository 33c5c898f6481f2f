// Keeps the click ID of a partner's link in a cookie of the shop's own page, and reads it at the checkout. Without
// it the service cannot know which partner brought the customer.
//
//   page opened with ?rbclick=… ─▶ keepClick sets the cookie ─▶ read at the checkout ─▶ clickId of the sale

import type { Client } from "../client/create-client.ts";
import { type PostbackHeaders, readHeader } from "../headers.ts";
import { isObject } from "../json.ts";
import { demand } from "../option-checks.ts";
import { type ClickTerms, followProgramme, isParameter, isWindow, mostDays } from "./click-terms.ts";

export type KeepClickOptions = {
	/**
	 * Client of the service, which is asked once an hour for the programme's number of days and name of the
	 * parameter. Until it has answered, `days` and `parameter` apply.
	 */
	readonly client?: Pick<Client, "programme"> | undefined;
	/** Number of days for which a click counts, which is a setting of the programme. Default: 30. */
	readonly days?: number | undefined;
	/** Name of the query parameter, which is a setting of the programme. It names the cookie too. Default: `rbclick`. */
	readonly parameter?: string | undefined;
	/**
	 * Domain of the cookie, for a shop whose pages and checkout are on several hosts, such as `shop.example` for
	 * `www.shop.example` and `api.shop.example`. Default: only the host that sets it.
	 */
	readonly domain?: string | undefined;
};

export type ClickKeeper = {
	/** Middleware for Express. With `node:http`, call it at the beginning of the request handler without `next`. */
	readonly node: (request: ClickSource, response: NodeClickResponse, next?: () => void) => void;
	/** Hook for Fastify: `app.addHook("onRequest", keeper.fastify)`. */
	readonly fastify: (request: ClickSource, reply: FastifyClickReply) => Promise<void>;
	/** Middleware for Hono: `app.use(keeper.hono)`. */
	readonly hono: (context: HonoClickContext, next: () => Promise<void>) => Promise<void>;
	/**
	 * Adds the cookie to a web-standard response and returns the response. In the middleware of Next.js:
	 * `return keeper.web(request, NextResponse.next())`.
	 */
	readonly web: <Answer extends WebClickResponse>(request: ClickSource, response: Answer) => Answer;
	/** Returns the value for the header `Set-Cookie`, or undefined if the page was not opened by a partner's link. */
	readonly cookieFor: (request: ClickSource) => string | undefined;
	/** Returns the click ID like `readClick`, for the query parameter of this keeper. */
	readonly read: (source: ClickSource | string | null | undefined) => string | undefined;
};

/** A request. `url` is the path and query of the page, or its whole address. */
export type ClickSource = {
	readonly url?: string | undefined;
	/** Path and query as received, in Express. */
	readonly originalUrl?: string | undefined;
	readonly headers: PostbackHeaders;
};

type NodeClickResponse = {
	getHeader(name: string): number | string | readonly string[] | undefined;
	setHeader(name: string, value: readonly string[]): unknown;
};
type FastifyClickReply = { header(name: string, value: string): unknown };
type HonoClickContext = {
	readonly req: { readonly raw: ClickSource };
	header(name: string, value: string, options: { append: boolean }): void;
};
type WebClickResponse = { readonly headers: { append(name: string, value: string): void } };

const defaultTerms: ClickTerms = { parameter: "rbclick", days: 30 };
const secondsOfDay = 86_400;
const domainForm = /^(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{1,63}$/;
/** Form of one click ID. The service ignores any other text, so other texts are not stored in the cookie. */
const clickForm = /^[A-Za-z0-9_-]{1,199}$/;

/**
 * Creates the middleware that keeps click IDs. The cookie cannot be read by scripts, and holds the last two click
 * IDs, joined by a dot, because the service takes the newest that counts. Throws if an option is wrong.
 */
export function keepClick(options: KeepClickOptions = {}): ClickKeeper {
	const { client, parameter = defaultTerms.parameter, days = defaultTerms.days, domain } = options;
	demandParameter(parameter);
	demand(isWindow(days), `days must be a whole number from 1 to ${mostDays}.`);
	demand(domain === undefined || domainForm.test(domain), "domain must be a domain such as shop.example.");
	demand(
		client === undefined || (isObject(client) && typeof client.programme === "function"),
		"client must be what createClient returns.",
	);
	const given: ClickTerms = { parameter, days };
	const readTerms = client === undefined ? () => given : followProgramme(client, given);
	const place = domain === undefined ? "Path=/" : `Path=/; Domain=${domain}`;

	function cookieFor(request: ClickSource): string | undefined {
		const terms = readTerms();
		if (findClicked(request, terms.parameter) === undefined) return undefined;
		const value = readClick(request, terms);
		const age = `Max-Age=${terms.days * secondsOfDay}`;
		return `${terms.parameter}=${value}; ${place}; ${age}; HttpOnly; Secure; SameSite=Lax`;
	}

	return {
		cookieFor,
		read: (source) => readClick(source, readTerms()),
		node(request, response, next) {
			const cookie = cookieFor(request);
			if (cookie !== undefined) {
				// Cookies that were set before on this response must stay.
				const others = [response.getHeader("Set-Cookie") ?? []].flat().map(String);
				response.setHeader("Set-Cookie", [...others, cookie]);
			}
			next?.();
		},
		async fastify(request, reply) {
			const cookie = cookieFor(request);
			// Fastify adds a second cookie to the first one.
			if (cookie !== undefined) reply.header("Set-Cookie", cookie);
		},
		async hono(context, next) {
			await next();
			const cookie = cookieFor(context.req.raw);
			if (cookie !== undefined) context.header("Set-Cookie", cookie, { append: true });
		},
		web(request, response) {
			const cookie = cookieFor(request);
			if (cookie !== undefined) response.headers.append("Set-Cookie", cookie);
			return response;
		},
	};
}

/**
 * Returns the click ID for the field `clickId` of a sale, or undefined if the customer did not come by a partner's
 * link. It takes a request, or the text of the header `Cookie`.
 */
export function readClick(
	source: ClickSource | string | null | undefined,
	options: { readonly parameter?: string | undefined } = {},
): string | undefined {
	const { parameter = defaultTerms.parameter } = options;
	demandParameter(parameter);
	if (source === null || source === undefined) return undefined;
	const isText = typeof source === "string";
	const stored = readCookie(isText ? source : (readHeader(source.headers, "cookie") ?? ""), parameter);
	const clicked = isText ? undefined : findClicked(source, parameter);
	// The click of this page is the newest. The one before it is kept, because the newest may not count.
	const clicks = clicked === undefined ? stored : [...stored.filter((one) => one !== clicked), clicked];
	return clicks.slice(-2).join(".") || undefined;
}

function demandParameter(parameter: unknown): void {
	demand(
		isParameter(parameter),
		"parameter must be letters, digits, - or _, 32 at most, as on the Integration page.",
	);
}

/** Returns the click ID with which this page was opened, or undefined if there is none. */
function findClicked({ originalUrl, url = "" }: ClickSource, parameter: string): string | undefined {
	const [, query = ""] = /\?([^#]*)/.exec(originalUrl ?? url) ?? [];
	const value = new URLSearchParams(query).get(parameter);
	return value !== null && clickForm.test(value) ? value : undefined;
}

/** Returns the click IDs in the cookie, the newest last. */
function readCookie(cookies: string, name: string): string[] {
	for (const pair of cookies.split(";")) {
		const [key = "", value = ""] = pair.split("=", 2);
		if (key.trim() !== name) continue;
		return value
			.trim()
			.split(".")
			.filter((one) => clickForm.test(one));
	}
	return [];
}
