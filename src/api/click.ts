// GET /c/<code>: a click on a partner's link leads to the shop's page, with a click id. See domain/click for what gets
// one, and clicks/ for why this asks the database nothing.

import type { MiddlewareHandler } from "hono";
import { isbot } from "isbot";
import { type Links, LinksAwayError } from "../clicks/links.ts";
import { type ClickRequest, judgeClick, landingAt, landingUrl } from "../domain/click.ts";
import { createClickSealer, keptSubIds, NO_SUB_IDS } from "../domain/click-token.ts";
import { SEALING_IV_BYTES } from "../domain/sealing.ts";
import type { KnownLink } from "../store/queries/clicks.ts";
import type { AppContext, AppDeps, AppEnv } from "./deps.ts";
import { requestTarget, targetQuery } from "./inbound-log.ts";
import { SAFE_HEADERS } from "./problem.ts";

const SUB_IDS = ["s1", "s2", "s3"];

/** As it is counted. */
export const CLICK_ROUTE = "/c/:code";
const PATH = "/c/";

export interface ClickDeps extends Pick<AppDeps, "clock" | "random" | "sealingKey" | "clickCounts"> {
	links: Links;
}

/** Without a body, unless it is a page. */
interface ClickAnswer {
	status: number;
	headers: Readonly<Record<string, string>>;
	html?: string;
}

type Incoming = NonNullable<AppEnv["Bindings"]["incoming"]> & { method?: string | undefined };

export type Clicks = ReturnType<typeof createClicks>;

export function createClicks(deps: ClickDeps) {
	const { links, clickCounts, clock, random, sealingKey } = deps;
	const sealer = createClickSealer(sealingKey);
	const isCrawler = createCrawlerCheck();

	function lead(
		link: KnownLink,
		target: string,
		method: string,
		header: ClickRequest["header"],
	): ClickAnswer {
		const { httpStatus, counted } = judgeClick({ method, header, isCrawler }, link.isActive);
		const query = target.includes("?") ? targetQuery(target) : undefined;
		const to = query?.get("to") ?? null;
		const chosen = to === null ? null : landingUrl(to, link.hosts);
		const landing = chosen === null ? link.landing : landingAt(chosen, link.parameter);
		if (landing === null) return NOT_FOUND;
		clickCounts.add(link, counted);
		if (to !== null && chosen === null) clickCounts.add(link, "target");
		if (httpStatus !== 302) return { status: httpStatus, headers: httpStatus === 204 ? HEADERS : NO_BODY };
		const { programmeId, partnershipId, linkId } = link;
		const seal = () => {
			const subIds = query === undefined ? NO_SUB_IDS : keptSubIds(SUB_IDS.map((name) => query.get(name)));
			const click = { programmeId, partnershipId, linkId, atMs: clock.nowMs(), subIds };
			return sealer.seal(click, random.bytes(SEALING_IV_BYTES));
		};
		const location = counted === "click" ? `${landing.beforeId}${seal()}${landing.afterId}` : landing.href;
		return { status: 302, headers: { ...NO_BODY, location } };
	}

	function find(target: string): ReturnType<Links["find"]> {
		if (!target.startsWith(PATH)) return null;
		const queryAt = target.indexOf("?");
		// A link may be printed or spoken: its code has no case.
		const code = target.slice(PATH.length, queryAt === -1 ? undefined : queryAt).toLowerCase();
		return links.find(code);
	}

	return {
		async answer(c: AppContext): Promise<Response> {
			const target = requestTarget(c);
			const header = (name: string) => c.req.header(name);
			try {
				const link = await find(target);
				const { html = null, ...head } = link === null ? NOT_FOUND : lead(link, target, c.req.method, header);
				return new Response(html, head);
			} catch (error) {
				if (!(error instanceof LinksAwayError)) throw error;
				return new Response(AWAY.html, AWAY);
			}
		},

		/**
		 * On links in memory, thousands of times a second: without a request and an answer of the web's kind, which cost as
		 * much as all the rest. Null for everything else, which goes the way of all requests.
		 */
		answerAtOnce(incoming: Incoming): ClickAnswer | null {
			const { method = "", url: target = "", headers = {} } = incoming;
			const link = method === "GET" || method === "HEAD" ? find(target) : null;
			if (link === null) return null;
			if (link instanceof Promise) {
				// The other way asks again, and shares this reading.
				link.catch(() => undefined);
				return null;
			}
			const header = (name: string) => headers[name]?.toString();
			const answer = lead(link, target, method, header);
			if (answer.html !== undefined) return null;
			if (incoming.record !== undefined) incoming.record.route = CLICK_ROUTE;
			return answer;
		},
	};
}

/** As METHOD and path: all that there is on a host for links alone. */
const LINKS_AND_HEALTH = /^(GET|HEAD) \/(c\/.+|healthz|readyz)$/;

/** On the host of `clickUrl` nobody finds a page to sign in on, or anything else that is not a link. */
export function keepToClicks(clickUrl: string): MiddlewareHandler<AppEnv> {
	const { hostname } = new URL(clickUrl);
	return async (c, next) => {
		// Some proxies pass the port on, others do not.
		const host = c.req
			.header("host")
			?.toLowerCase()
			.replace(/\.*(:\d+)?$/, "");
		if (host !== hostname || LINKS_AND_HEALTH.test(`${c.req.method} ${c.req.path}`)) return next();
		return new Response(NOT_FOUND.html, NOT_FOUND);
	};
}

const MAX_KNOWN_AGENTS = 1_000;

/** People use few browsers, and the list of crawlers is long: what was looked up is remembered. */
function createCrawlerCheck(): (userAgent: string) => boolean {
	const known = new Map<string, boolean>();
	return (userAgent) => {
		let is = known.get(userAgent);
		if (is === undefined) {
			is = isbot(userAgent);
			if (known.size >= MAX_KNOWN_AGENTS) known.clear();
			known.set(userAgent, is);
		}
		return is;
	};
}

/** No cookie: the shop's own server sets one. The shop sees where its visitor came from. */
const HEADERS = {
	"cache-control": "no-store",
	"referrer-policy": "no-referrer-when-downgrade",
};

/** Or the answer would be sent in pieces, of which there is none. */
const NO_BODY = { ...HEADERS, "content-length": "0" };

const STYLE =
	"body{max-width:32rem;margin:20vh auto;padding:0 1rem;font:1.1rem/1.5 system-ui;text-align:center}";
/** The page is always the same text: nothing that anybody sends can be a style in it. */
const STYLED = {
	"content-security-policy": `${SAFE_HEADERS["content-security-policy"]}; style-src 'unsafe-inline'`,
};

const NOT_FOUND = page(
	404,
	"This link does not exist",
	"Check the address, or ask the site that you came from: the link may have been mistyped or removed.",
);
const AWAY = page(
	503,
	"One moment, please",
	"This link cannot be opened right now. Try again in a few seconds.",
	{ "retry-after": "5" },
);

function page(status: 404 | 503, title: string, text: string, more: Readonly<Record<string, string>> = {}) {
	const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>${title}</title><style>${STYLE}</style>
<h1>${title}</h1>
<p>${text}</p></html>
`;
	const headers = {
		...SAFE_HEADERS,
		...HEADERS,
		...more,
		...STYLED,
		"content-type": "text/html; charset=utf-8",
	};
	return { status, html, headers };
}
