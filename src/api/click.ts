// GET /c/<code>: a click on a partner's link redirects to the shop's page and adds a click ID. domain/click.ts decides
// which requests count as clicks. Links come from a cache (clicks/), so that a click usually needs no query.

import type { MiddlewareHandler } from "hono";
import { isbot } from "isbot";
import { type PartnerLinkCache, PartnerLinksUnavailableError } from "../clicks/partner-link-cache.ts";
import { type ClickRequest, judgeClick, landingAt, landingUrl } from "../domain/click.ts";
import { createClickSealer, keptSubIds, NO_SUB_IDS } from "../domain/click-token.ts";
import { SEALING_IV_BYTES } from "../domain/sealing.ts";
import type { KnownLink } from "../store/queries/clicks.ts";
import type { AppContext, AppDeps, AppEnv } from "./deps.ts";
import { requestTarget, targetQuery } from "./inbound-log.ts";
import { SAFE_HEADERS } from "./problem.ts";

const SUB_IDS = ["s1", "s2", "s3"];

/** Route pattern in metrics and logs. */
export const CLICK_ROUTE = "/c/:code";
const PATH = "/c/";

export interface ClickDeps extends Pick<AppDeps, "clock" | "random" | "sealingKey" | "clickCounts"> {
	partnerLinks: PartnerLinkCache;
}

/** An answer without a body, unless it has `html`. */
interface ClickAnswer {
	status: number;
	headers: Readonly<Record<string, string>>;
	html?: string;
}

type Incoming = NonNullable<AppEnv["Bindings"]["incoming"]> & { method?: string | undefined };

export type Clicks = ReturnType<typeof createClicks>;

export function createClicks(deps: ClickDeps) {
	const { partnerLinks, clickCounts, clock, random, sealingKey } = deps;
	const sealer = createClickSealer(sealingKey);
	const isCrawler = createCrawlerCheck();

	function answerClick(
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

	function find(target: string): ReturnType<PartnerLinkCache["find"]> {
		if (!target.startsWith(PATH)) return null;
		const queryAt = target.indexOf("?");
		// Codes ignore case, because a link may be printed or dictated.
		const code = target.slice(PATH.length, queryAt === -1 ? undefined : queryAt).toLowerCase();
		return partnerLinks.find(code);
	}

	return {
		async answer(c: AppContext): Promise<Response> {
			const target = requestTarget(c);
			const header = (name: string) => c.req.header(name);
			try {
				const link = await find(target);
				const { html = null, ...head } =
					link === null ? NOT_FOUND : answerClick(link, target, c.req.method, header);
				return new Response(html, head);
			} catch (error) {
				if (!(error instanceof PartnerLinksUnavailableError)) throw error;
				return new Response(UNAVAILABLE.html, UNAVAILABLE);
			}
		},

		/**
		 * Answers clicks on cached links without creating Request and Response objects, which would double the
		 * cost. There may be thousands of such clicks a second. Returns null for all other requests, which are
		 * handled normally.
		 */
		answerAtOnce(incoming: Incoming): ClickAnswer | null {
			const { method = "", url: target = "", headers = {} } = incoming;
			const link = method === "GET" || method === "HEAD" ? find(target) : null;
			if (link === null) return null;
			if (link instanceof Promise) {
				// The usual way asks again, shares this read and handles its error.
				link.catch(() => undefined);
				return null;
			}
			const header = (name: string) => headers[name]?.toString();
			const answer = answerClick(link, target, method, header);
			if (answer.html !== undefined) return null;
			if (incoming.record !== undefined) incoming.record.route = CLICK_ROUTE;
			return answer;
		},
	};
}

/** Methods and paths that are answered on a host of its own for links. */
const LINKS_AND_HEALTH = /^(GET|HEAD) \/(c\/.+|healthz|readyz)$/;

/** Answers nothing but links and health checks on the host of `clickUrl`, so that nobody finds a sign-in page there. */
export function keepToClicks(clickUrl: string): MiddlewareHandler<AppEnv> {
	const { hostname } = new URL(clickUrl);
	return async (c, next) => {
		// Some proxies forward the port in this header, others do not.
		const host = c.req
			.header("host")
			?.toLowerCase()
			.replace(/\.*(:\d+)?$/, "");
		if (host !== hostname || LINKS_AND_HEALTH.test(`${c.req.method} ${c.req.path}`)) return next();
		return new Response(NOT_FOUND.html, NOT_FOUND);
	};
}

const MAX_CACHED_AGENTS = 1_000;

/** Caches which user agents are crawlers, because people use few browsers and the list of crawlers is long. */
function createCrawlerCheck(): (userAgent: string) => boolean {
	const cached = new Map<string, boolean>();
	return (userAgent) => {
		let isCrawler = cached.get(userAgent);
		if (isCrawler === undefined) {
			isCrawler = isbot(userAgent);
			if (cached.size >= MAX_CACHED_AGENTS) cached.clear();
			cached.set(userAgent, isCrawler);
		}
		return isCrawler;
	};
}

/** There is no cookie, because the shop's own server sets one. The Referer lets the shop see where a visitor came from. */
const HEADERS = {
	"cache-control": "no-store",
	"referrer-policy": "no-referrer-when-downgrade",
};

/** With a length, because an answer without one would be sent in chunks. */
const NO_BODY = { ...HEADERS, "content-length": "0" };

const STYLE =
	"body{max-width:32rem;margin:20vh auto;padding:0 1rem;font:1.1rem/1.5 system-ui;text-align:center}";
/** An inline style is safe here, because the page is constant and contains nothing that anybody sends. */
const STYLED = {
	"content-security-policy": `${SAFE_HEADERS["content-security-policy"]}; style-src 'unsafe-inline'`,
};

const NOT_FOUND = page(
	404,
	"This link does not exist",
	"Check the address, or ask the site that you came from: the link may have been mistyped or removed.",
);
const UNAVAILABLE = page(
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
