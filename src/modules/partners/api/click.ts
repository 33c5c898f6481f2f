// GET /c/<code>. A click on a partner's link is redirected to the shop's page, with a click ID added to the
// address. domain/click.ts decides which requests count as clicks. Links come from a cache, so that
// a click usually needs no query.

import type { MiddlewareHandler } from "hono";
import { html, raw } from "hono/html";
import { isbot } from "isbot";
import type { AppContext, AppDeps, AppEnv } from "#core/api/deps.ts";
import { blockOfIncoming, callerBlock, requestTarget, targetQuery } from "#core/api/inbound-log.ts";
import { SAFE_HEADERS } from "#core/api/problem.ts";
import { networkName } from "#core/domain/network.ts";
import { SEALING_IV_BYTES } from "#core/domain/sealing.ts";
import type { NetworkFace } from "#core/store/network-cache.ts";
import type { Admission } from "../../../concurrency/admission.ts";
import { createRateLimiter, type RateRule, type RequestOrigin } from "../../../concurrency/rate-limit.ts";
import { type ClickRequest, judgeClick, landingAt, landingUrl } from "../domain/click.ts";
import { createClickSealer, keptSubIds, NO_SUB_IDS } from "../domain/click-token.ts";
import type { KnownLink } from "../store/clicks.ts";
import { type PartnerLinkCache, PartnerLinksUnavailableError } from "../use-cases/partner-link-cache.ts";

const SUB_IDS = ["s1", "s2", "s3"];

/** Route pattern in metrics and logs. */
export const CLICK_ROUTE = "/c/:code";
const PATH = "/c/";

export interface ClickDeps
	extends Pick<AppDeps, "clock" | "random" | "keyRing" | "clickCounts" | "trustedProxies" | "network"> {
	partnerLinks: PartnerLinkCache;
	admission: Pick<Admission, "delayRefusal">;
}

/**
 * Rate limits for requests with a link code that does not exist and is not cached. They are limited, because
 * each of these requests costs a share of a database query. People mistype a code now and then, but a client
 * that sends many wrong codes is guessing. Private addresses get a higher rate, because a proxy that is not
 * configured as trusted makes all visitors appear to have the same address.
 */
export const UNKNOWN_CODE_RATES = [
	{ per: "addressBlock", burst: 100, perSecond: 5 },
	{ per: "privateAddresses", burst: 300, perSecond: 50 },
] as const satisfies readonly RateRule[];

/**
 * Rate of requests with an unknown code from all addresses together, for one process. Above this rate, a
 * request is still looked up, because it may be a visitor's first click on a link, but the answer that there
 * is no link comes a second late. This also slows down a flood from very many addresses.
 */
export const ALL_UNKNOWN_CODES_RATE = {
	per: "process",
	burst: 500,
	perSecond: 100,
} as const satisfies RateRule;

/**
 * Rate limits for user agents that are not cached. Comparing a user agent with the list of crawlers costs as
 * much as answering two clicks.
 */
export const NEW_AGENT_RATES = [
	{ per: "addressBlock", burst: 500, perSecond: 50 },
	{ per: "privateAddresses", burst: 2_000, perSecond: 250 },
] as const satisfies readonly RateRule[];

/** An answer to a click, which has no body. */
interface ClickAnswer {
	status: number;
	headers: Readonly<Record<string, string>>;
}

type Incoming = NonNullable<AppEnv["Bindings"]["incoming"]> & { method?: string | undefined };

export type Clicks = ReturnType<typeof createClicks>;

export function createClicks(deps: ClickDeps) {
	const { partnerLinks, clickCounts, clock, random, keyRing, admission } = deps;
	const sealer = createClickSealer(keyRing);
	const crawlers = createCrawlerCheck();
	const unknownCodes = createRateLimiter(UNKNOWN_CODE_RATES);
	const allUnknownCodes = createRateLimiter([ALL_UNKNOWN_CODES_RATE]);
	const newAgents = createRateLimiter(NEW_AGENT_RATES);

	/** Answers a click. Returns null if the link leads nowhere, because its programme has no shop address. */
	function answerClick(
		link: KnownLink,
		target: string,
		method: string,
		header: ClickRequest["header"],
	): ClickAnswer | null {
		const { httpStatus, counted } = judgeClick({ method, header, isCrawler: crawlers.has }, link.isActive);
		const query = target.includes("?") ? targetQuery(target) : undefined;
		const to = query?.get("to") ?? null;
		const chosen = to === null ? null : landingUrl(to, link.hosts);
		const landing = chosen === null ? link.landing : landingAt(chosen, link.parameter);
		if (landing === null) return null;
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

	/**
	 * Returns true if the user agent is cached, or if the rate limit still allows comparing it with the list of
	 * crawlers. The comparison counts against that limit.
	 */
	function takeAgent(header: ClickRequest["header"], origin: () => RequestOrigin): boolean {
		const userAgent = header("user-agent") ?? "";
		return crawlers.isCached(userAgent) || newAgents.take(origin(), clock.monotonicMs());
	}

	/**
	 * Finds a link. A client that guesses many codes gets an error after a second, and no query is made for it.
	 */
	async function findLimited(code: string, origin: RequestOrigin): Promise<KnownLink | null> {
		const isKnown = partnerLinks.isKnown(code);
		if (!isKnown && !unknownCodes.allows(origin, clock.monotonicMs())) {
			await admission.delayRefusal();
			throw new PartnerLinksUnavailableError("this client tries too many codes");
		}
		const link = await partnerLinks.find(code);
		if (link === null && !isKnown) {
			const nowMs = clock.monotonicMs();
			unknownCodes.take(origin, nowMs);
			if (!allUnknownCodes.take(origin, nowMs)) await admission.delayRefusal();
		}
		return link;
	}

	return {
		async answer(c: AppContext): Promise<Response> {
			const target = requestTarget(c);
			const code = codeIn(target);
			const header = (name: string) => c.req.header(name);
			const origin = { addressBlock: callerBlock(c, deps), programme: null };
			try {
				const link = code === null ? null : await findLimited(code, origin);
				// A click above the rate limit for new user agents is delayed but still counted, because many people
				// may share an address block.
				if (link !== null && !takeAgent(header, () => origin)) await admission.delayRefusal();
				const answer = link === null ? null : answerClick(link, target, c.req.method, header);
				return answer === null ? answerNotFound(deps) : new Response(null, answer);
			} catch (error) {
				if (!(error instanceof PartnerLinksUnavailableError)) throw error;
				return answerPage(deps.network.face, UNAVAILABLE);
			}
		},

		/**
		 * Answers clicks on cached links without creating Request and Response objects, which would double the
		 * cost. There may be thousands of such clicks a second. Returns null for all other requests, which are
		 * handled normally.
		 */
		answerAtOnce(incoming: Incoming): ClickAnswer | null {
			const { method = "", url: target = "", headers = {} } = incoming;
			const code = method === "GET" || method === "HEAD" ? codeIn(target) : null;
			if (code === null || !partnerLinks.isKnown(code)) return null;
			const link = partnerLinks.find(code);
			if (link === null) return null;
			if (link instanceof Promise) {
				// The caller now handles the request in the normal way, which waits for the same read and handles its
				// error. The error is therefore ignored here.
				link.catch(() => undefined);
				return null;
			}
			const header = (name: string) => headers[name]?.toString();
			const origin = () => ({ addressBlock: blockOfIncoming(incoming, deps), programme: null });
			if (!takeAgent(header, origin)) return null;
			const answer = answerClick(link, target, method, header);
			if (answer === null) return null;
			if (incoming.record !== undefined) incoming.record.route = CLICK_ROUTE;
			return answer;
		},
	};
}

/**
 * Returns the code of a partner's link, or null if the request target is not such a link. Codes ignore case,
 * because a link may be printed or dictated.
 */
function codeIn(target: string): string | null {
	if (!target.startsWith(PATH)) return null;
	const queryAt = target.indexOf("?");
	return target.slice(PATH.length, queryAt === -1 ? undefined : queryAt).toLowerCase();
}

/**
 * Methods and paths that are answered on the separate host name for partners' links, if there is one. Every
 * other request to that host gets a 404.
 */
const LINKS_AND_HEALTH = /^(GET|HEAD) \/(c\/.+|healthz|readyz)$/;

/** Answers nothing but links and health checks on the host of `clickUrl`, so that nobody finds a sign-in page there. */
export function keepToClicks(clickUrl: string, deps: Pick<AppDeps, "network">): MiddlewareHandler<AppEnv> {
	const { hostname } = new URL(clickUrl);
	return async (c, next) => {
		const host = hostNameOf(c.req.header("host") ?? "");
		if (host !== hostname || LINKS_AND_HEALTH.test(`${c.req.method} ${c.req.path}`)) return next();
		return answerNotFound(deps);
	};
}

/**
 * Returns the name in a Host header, without the port, which only some proxies include, and without dots at its end.
 * The dots are counted from the end, because an expression for them takes quadratic time.
 */
function hostNameOf(header: string): string {
	const name = header.toLowerCase().replace(/:\d+$/, "");
	let end = name.length;
	while (name[end - 1] === ".") end--;
	return name.slice(0, end);
}

/**
 * Maximum number of cached user agents, about a megabyte. When the cache is full, it is emptied, which costs
 * less than tracking which entries were used last.
 */
const MAX_CACHED_AGENTS = 5_000;
/** Maximum length of a cached user agent. Those of browsers have 100 to 200 characters. */
const MAX_AGENT_LENGTH = 300;

/**
 * Creates a check that remembers which user agents are crawlers. Visitors use few different browsers, and the
 * list of crawlers is long.
 */
function createCrawlerCheck() {
	const cached = new Map<string, boolean>();
	return {
		isCached: (userAgent: string): boolean => userAgent === "" || cached.has(userAgent),
		has(userAgent: string): boolean {
			let isCrawler = cached.get(userAgent);
			if (isCrawler === undefined) {
				isCrawler = isbot(userAgent);
				if (userAgent.length > MAX_AGENT_LENGTH) return isCrawler;
				if (cached.size >= MAX_CACHED_AGENTS) cached.clear();
				cached.set(userAgent, isCrawler);
			}
			return isCrawler;
		},
	};
}

/**
 * Headers of every answer to a click. No cookie is set, because the shop's own server sets one. The Referer
 * stays visible to the shop, so that it can see where a visitor came from.
 */
const HEADERS = {
	"cache-control": "no-store",
	"referrer-policy": "no-referrer-when-downgrade",
};

/** Headers of an answer without a body. Without a content length the answer would be sent in chunks. */
const NO_BODY = { ...HEADERS, "content-length": "0" };

const STYLE = `body{max-width:30rem;margin:0 auto;padding:12vh 1rem 2rem;font:1.05rem/1.5 system-ui;overflow-wrap:anywhere;background:light-dark(#f6f7f9,#111318);color:light-dark(#15181e,#e8eaf0)}
main{padding:1.5rem;background:light-dark(#fff,#1a1d24);border:1px solid light-dark(#d9dde4,#333843);border-radius:.5rem}
header{margin:0 0 1rem;font-weight:600}h1{margin:0 0 .5rem;font-size:1.3rem;line-height:1.3}p{margin:0}`;
/**
 * An inline style is safe on this page, because the network's name is the only variable text, and it is escaped.
 */
const STYLED = {
	"content-security-policy": `${SAFE_HEADERS["content-security-policy"]}; style-src 'unsafe-inline'`,
};

/** Texts of a page for people whose link cannot be opened. */
interface ClickPage {
	status: 404 | 503;
	title: string;
	text: string;
	headers?: Readonly<Record<string, string>>;
}

const NOT_FOUND: ClickPage = {
	status: 404,
	title: "This link does not exist",
	text: "The link may have been mistyped or removed. Check the address, or ask the site that you came from.",
};
const UNAVAILABLE: ClickPage = {
	status: 503,
	title: "One moment, please",
	text: "This link cannot be opened right now. Try again in a few seconds.",
	headers: { "retry-after": "5" },
};

async function answerNotFound({ network }: Pick<AppDeps, "network">): Promise<Response> {
	return answerPage(await network.read(), NOT_FOUND);
}

function answerPage(face: NetworkFace, { status, title, text, headers }: ClickPage): Response {
	const name = networkName(face);
	const body = html`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>${title}${name === null ? "" : ` · ${name}`}</title><style>${raw(STYLE)}</style>
<body>${name === null ? "" : html`<header>${name}</header>`}<main><h1>${title}</h1>
<p>${text}</p></main></body></html>
`;
	return new Response(String(body), {
		status,
		headers: {
			...SAFE_HEADERS,
			...HEADERS,
			...headers,
			...STYLED,
			"content-type": "text/html; charset=utf-8",
		},
	});
}
