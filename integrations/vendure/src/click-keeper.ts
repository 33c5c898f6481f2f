// Keeps and reads the click IDs of partner links. The name of the parameter and the number of days come from the
// programme. The landing route is for shops whose storefront has no server of its own: it stores the click ID in a cookie
// and redirects to the same page of the storefront.

import { Inject, Injectable, type OnApplicationBootstrap } from "@nestjs/common";
import { type ClickKeeper as Keeper, keepClick } from "@ringback/receiver/click";
import { ProcessContext } from "@vendure/core";
import { CallSender } from "./call-sender";
import { SETTINGS, type Settings } from "./options";

interface LandingRequest {
	/** Path and query below the route. */
	url: string;
	originalUrl: string;
	headers: Record<string, string | string[] | undefined>;
}

interface LandingResponse {
	statusCode: number;
	getHeader(name: string): number | string | string[] | undefined;
	setHeader(name: string, value: string | readonly string[]): unknown;
	end(): unknown;
}

/** The keeper of the running server. The route is mounted before Vendure creates its services. */
let current: Keeper | undefined;

@Injectable()
export class ClickKeeper implements OnApplicationBootstrap {
	constructor(
		private readonly processContext: ProcessContext,
		private readonly callSender: CallSender,
		@Inject(SETTINGS) private readonly settings: Settings,
	) {}

	onApplicationBootstrap(): void {
		if (!this.processContext.isServer) return;
		const { clickParameter: parameter, clickDays: days, cookieDomain: domain } = this.settings;
		current = keepClick({ client: this.callSender.client, parameter, days, domain });
	}

	/** Returns the click ID in the header `Cookie` of a customer's request. */
	read(cookie: string | undefined): string | undefined {
		return current?.read(cookie);
	}
}

/** Returns the handler of the landing route for Express. */
export function createLanding(storefrontUrl: string) {
	return (request: LandingRequest, response: LandingResponse): void => {
		const cookie = current?.cookieFor(request);
		const [path = "/", query = ""] = request.url.split("?");
		const rest = new URLSearchParams(query);
		if (cookie !== undefined) {
			response.setHeader("Set-Cookie", [cookie]);
			// The cookie has the name of the parameter.
			rest.delete(cookie.slice(0, cookie.indexOf("=")));
		}
		response.statusCode = 303;
		response.setHeader("Cache-Control", "no-store");
		response.setHeader("Location", `${storefrontUrl}${path}${rest.size === 0 ? "" : `?${rest}`}`);
		response.end();
	};
}
