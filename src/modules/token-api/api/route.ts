// The form of a call of the network's and the partners' APIs, with the input and the result of its handler.

import type * as z from "zod";
import type { AppDeps } from "#core/api/deps.ts";
import type { ApiTag } from "#core/api/openapi/specification.ts";
import type { TokenCallDescription } from "#core/api/route.ts";
import type { NetworkTallies } from "#core/conversions/tally.ts";
import type { Result } from "#core/domain/fault.ts";
import type { MailDispatcher } from "#core/mail/dispatcher.ts";
import type { TokenHolder } from "#core/people/actor.ts";
import type { FoundToken } from "#core/store/queries/api-tokens.ts";
import type { CachedSubTotals } from "#modules/partners/use-cases/sub-totals.ts";

export interface TokenApiDeps extends AppDeps {
	mails: MailDispatcher;
	/** URL with which every partner link begins. */
	clickUrl: string;
	/** True if callbacks and links may lead to private addresses, which is a development setting. */
	allowsPrivateRanges: boolean;
	/** Totals of the network, counted in the background. */
	networkTallies: NetworkTallies;
	/** Totals of partners by day and sub id, counted in the background. */
	subTotals: CachedSubTotals;
}

/** A call whose token has the right that the route needs, and whose fields have the right form. */
export interface TokenCall<Query, Body> {
	holder: TokenHolder;
	token: Readonly<FoundToken>;
	/** Values of the parameters in the path, by name. */
	path: Readonly<Record<string, string>>;
	query: Query;
	body: Body;
	/** The header If-Match, or undefined if the caller does not care about changes by others. */
	ifMatch: string | undefined;
	nowMs: number;
}

export interface TokenAnswer<Body> {
	body: Body;
	/** True if the call created the resource, which is answered with 201. */
	isNew?: boolean;
}

/** Heading of the calls of the network. */
export const NETWORK_TAG: ApiTag = {
	name: "Network API",
	description: "Programs of the network read and administer with an API token. These calls are not signed.",
};
/** Heading of the calls of a partner. */
export const PARTNER_TAG: ApiTag = {
	name: "Partner API",
	description: "Programs of a partner read its data and create links with an API token. They are not signed.",
};

/** A call with an API token. `handle` gets the values that the schemas of the call have parsed. */
export interface TokenRoute extends TokenCallDescription {
	handle(call: TokenCall<unknown, unknown>, deps: TokenApiDeps): Promise<Result<TokenAnswer<unknown>>>;
}

/** Fields that describe a call, which all kinds of calls have. */
export interface RouteWords
	extends Pick<TokenCallDescription, "path" | "right" | "operationId" | "summary" | "description"> {
	/** Kinds of faults of this call, besides those of every call of its kind. */
	faults?: TokenCallDescription["faults"];
}

interface RouteDefinition<Query extends z.ZodObject, Body extends z.ZodObject, Answer extends z.ZodType>
	extends Omit<TokenCallDescription, "caller" | "tag" | "answers" | "isResource"> {
	query?: Query;
	body?: Body;
	sample?: z.input<Body>;
	answer: { description: string; schema: Answer; example?: z.output<Answer> };
	isResource?: boolean;
	/** True if the call creates something. It then answers 201, or 200 if the reference was used before. */
	creates?: boolean;
	handle(
		call: TokenCall<z.output<Query>, z.output<Body>>,
		deps: TokenApiDeps,
	): Promise<Result<TokenAnswer<z.output<Answer>>>>;
}

export function route<
	Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
	Body extends z.ZodObject = z.ZodObject<Record<never, never>>,
	Answer extends z.ZodType = z.ZodType,
>(definition: RouteDefinition<Query, Body, Answer>): TokenRoute {
	const { handle, answer, isResource = false, creates = false, ...words } = definition;
	const { description } = answer;
	return {
		...words,
		caller: "token",
		tag: (words.right === "partner" ? PARTNER_TAG : NETWORK_TAG).name,
		isResource,
		answers: creates
			? {
					201: { ...answer, description: `${description} It was created now.` },
					200: { ...answer, description: `${description} It was created before, with the same reference.` },
				}
			: { 200: answer },
		// The cast is safe, because token-call.ts parses query and body with the schemas of this very route.
		handle: (call, deps) => handle(call as TokenCall<z.output<Query>, z.output<Body>>, deps),
	};
}
