// The calls of `ringback listen` to the service. A shop signs them with its key and secret. A partner sends its API token.

import { signRequest } from "../sign-request.ts";
import type { ListenSettings } from "./settings.ts";

export type ListenCaller = {
	readonly eventsPath: string;
	readonly answersPath: string;
	/** Returns the headers that authenticate a call. */
	authenticate(call: {
		readonly method: "GET" | "POST";
		readonly path: string;
		readonly body?: string;
	}): Promise<Readonly<Record<string, string>>>;
};

export function createListenCaller(settings: ListenSettings): ListenCaller {
	if ("token" in settings) {
		const { token } = settings;
		return {
			eventsPath: "/v1/partner/events",
			answersPath: "/v1/partner/events/answers",
			authenticate: async ({ body }) => ({
				Authorization: `Bearer ${token}`,
				...(body === undefined ? {} : { "Content-Type": "application/json" }),
			}),
		};
	}
	const { apiKey, secret, brand } = settings;
	return {
		eventsPath: "/v1/events",
		answersPath: "/v1/events/answers",
		authenticate: async (call) => (await signRequest({ ...call, secret, apiKey, brand })).headers,
	};
}
