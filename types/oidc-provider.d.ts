// The part of oidc-provider that test/support/identity-provider.ts uses. The package has no types of its own, and
// @types/oidc-provider brings those of a whole web framework. tsconfig.json refers to this file.

import type { IncomingMessage, ServerResponse } from "node:http";

interface Grant {
	addOIDCScope(scope: string): void;
	save(): Promise<string>;
}

interface OidcContext {
	path: string;
	body: unknown;
	oidc: { client: { clientId: string }; session: { accountId: string }; provider: Provider };
}

export interface Configuration {
	clients: readonly Readonly<Record<string, unknown>>[];
	jwks: { keys: readonly object[] };
	cookies: { keys: readonly string[] };
	claims: Readonly<Record<string, readonly string[]>>;
	conformIdTokenClaims: boolean;
	features: { devInteractions: { enabled: boolean } };
	interactions: { url(context: OidcContext, interaction: { uid: string }): string };
	ttl: Readonly<Record<string, number>>;
	findAccount(
		context: OidcContext,
		id: string,
	): { accountId: string; claims(): Readonly<Record<string, unknown>> } | undefined;
	loadExistingGrant(context: OidcContext): Promise<Grant>;
}

export class Provider {
	constructor(issuer: string, configuration: Configuration);
	readonly Grant: new (owner: {
		clientId: string;
		accountId: string;
	}) => Grant;
	use(middleware: (context: OidcContext, next: () => Promise<void>) => Promise<void>): void;
	callback(): (request: IncomingMessage, response: ServerResponse) => void;
	interactionFinished(
		request: IncomingMessage,
		response: ServerResponse,
		result: { login: { accountId: string } } | { error: string },
	): Promise<void>;
}
