// GET /c/<code>: a click on a partner's link leads to the shop's page, with a click id. See domain/click for what gets
// one, and clicks/ for why this asks the database nothing.

import type { MiddlewareHandler } from "hono";
import { isbot } from "isbot";
import { type Links, LinksAwayError } from "../clicks/links.ts";
import { CODE_PATTERN, judgeClick, landingUrl, withClickId } from "../domain/click.ts";
import { createClickSealer, keptSubIds } from "../domain/click-token.ts";
import { SEALING_IV_BYTES } from "../domain/sealing.ts";
import type { KnownLink } from "../store/queries/clicks.ts";
import type { AppContext, AppDeps, AppEnv } from "./deps.ts";
import { SAFE_HEADERS } from "./problem.ts";

const PATH = /^\/c\/([^/]+)$/;

export interface ClickDeps extends Pick<AppDeps, "clock" | "random" | "sealingKey" | "clickCounts"> {
	links: Links;
}

export function createClickAnswer(deps: ClickDeps): (c: AppContext) => Promise<Response> {
	const { links, clickCounts, clock, random, sealingKey } = deps;
	const sealer = createClickSealer(sealingKey);

	const isCrawler = createCrawlerCheck();

	function lead(c: AppContext, link: KnownLink): Response {
		const { method } = c.req;
		const header = (name: string) => c.req.header(name);
		const asked = { method, userAgent: header("user-agent") ?? null, isCrawler, header };
		const { httpStatus, counted } = judgeClick(asked, link.isActive);
		const to = c.req.query("to");
		const chosen = to === undefined ? null : landingUrl(to, link.hosts);
		const target = chosen ?? landingUrl(link.target, link.hosts);
		// The programme has taken the host off its list since.
		if (target === null) return notFound();
		clickCounts.add(link, counted);
		if (to !== undefined && chosen === null) clickCounts.add(link, "target");
		if (httpStatus !== 302) return new Response(null, { status: httpStatus, headers: HEADERS });
		const { programmeId, partnershipId, linkId, parameter } = link;
		const subIds = () => keptSubIds([c.req.query("s1"), c.req.query("s2"), c.req.query("s3")]);
		const seal = () => {
			const click = { programmeId, partnershipId, linkId, atMs: clock.nowMs(), subIds: subIds() };
			return sealer.seal(click, random.bytes(SEALING_IV_BYTES));
		};
		const location = counted === "click" ? withClickId(target, parameter, seal()) : target.href;
		return new Response(null, { status: 302, headers: { ...HEADERS, ...EMPTY, location } });
	}

	return async (c) => {
		const code = PATH.exec(c.req.path)?.[1] ?? "";
		if (!CODE_PATTERN.test(code)) return notFound();
		try {
			const link = await links.find(code);
			return link === null ? notFound() : lead(c, link);
		} catch (error) {
			if (!(error instanceof LinksAwayError)) throw error;
			return page(503, AWAY, { "retry-after": "5" });
		}
	};
}

/** As METHOD and path: all that there is on a host for links alone. */
const LINKS_AND_HEALTH = /^(GET|HEAD) \/(c\/.+|healthz|readyz)$/;

/** On the host of `clickUrl` nobody finds a page to sign in on, or anything else that is not a link. */
export function keepToClicks(clickUrl: string): MiddlewareHandler<AppEnv> {
	const { hostname } = new URL(clickUrl);
	return async (c, next) => {
		// Some proxies pass the port on, others do not.
		const host = c.req.header("host")?.toLowerCase().replace(/:\d+$/, "");
		if (host !== hostname || LINKS_AND_HEALTH.test(`${c.req.method} ${c.req.path}`)) return next();
		return notFound();
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
	...SAFE_HEADERS,
	"cache-control": "no-store",
	"referrer-policy": "no-referrer-when-downgrade",
};

/** Or the answer would be sent in pieces, of which there is none. */
const EMPTY = { "content-length": "0" };

function pageOf(title: string, text: string): string {
	return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><h1>${title}</h1>
<p>${text}</p></html>
`;
}

const NOT_FOUND = pageOf(
	"This link does not exist",
	"Check the address, or ask the site that you came from: the link may have been mistyped or removed.",
);
const AWAY = pageOf(
	"One moment, please",
	"This link cannot be opened right now. Try again in a few seconds.",
);

function page(status: 404 | 503, html: string, more: Readonly<Record<string, string>> = {}): Response {
	return new Response(html, {
		status,
		headers: { ...HEADERS, ...more, "content-type": "text/html; charset=utf-8" },
	});
}

function notFound(): Response {
	return page(404, NOT_FOUND);
}
