// The base of every HTTP app of the service: security headers, answers for failures and unknown paths, and
// health checks. The apps for worker processes and for metrics are also defined here.

import { Hono } from "hono";
import type { Admission } from "../../concurrency/admission.ts";
import { createRateLimiter, type RateRule } from "../../concurrency/rate-limit.ts";
import { fault, faultOf } from "../domain/fault.ts";
import { idsOf, recordOf, routeOf } from "../request-notes.ts";
import type { AppDeps, AppEnv } from "./deps.ts";
import { createHealth, type ProcessDetails } from "./health.ts";
import { callerBlock, readInboundCall } from "./inbound-log.ts";
import { addSafeHeaders, ourFault, problemAnswer } from "./problem.ts";
import type { SignedCalls } from "./signed-call.ts";

export function createBareApp(deps: AppDeps, signedCalls: SignedCalls | null): Hono<AppEnv> {
	const app = new Hono<AppEnv>();
	const isSecure = deps.publicUrl.startsWith("https:");
	app.use(async (c, next) => {
		await next();
		const record = recordOf(c);
		if (record !== undefined) record.route ??= routeOf(c);
		addSafeHeaders(c.res);
		if (isSecure) c.res.headers.set("strict-transport-security", "max-age=31536000");
	});
	answerFailures(app, deps);
	app.notFound((c) => {
		const found =
			signedCalls === null
				? fault("not_found", "There is nothing at this address.")
				: faultOf("not_found", {});
		// Requests to paths outside /v1/ come from scanners. They get no row in the inbound log, because they
		// would only fill it.
		const isOurs = c.req.path.startsWith("/v1/");
		if (signedCalls === null || !isOurs) return problemAnswer(deps, found);
		return signedCalls.refuse(readInboundCall(c, deps, "api"), found);
	});
	return app;
}

export function answerFailures(app: Hono<AppEnv>, deps: AppDeps): void {
	app.onError((error, c) => {
		const about = { ...idsOf(recordOf(c)), method: c.req.method, path: c.req.path };
		deps.log.error({ err: error, ...about }, "a request failed");
		return problemAnswer(deps, ourFault(error));
	});
}

/**
 * Rate limits of `/readyz`. A load balancer sends at most one check a second. Private addresses get a higher
 * rate, because they may be many load balancers, and a load balancer could remove a healthy process if its
 * check is answered late.
 */
export const READY_RATES = [
	{ per: "addressBlock", burst: 100, perSecond: 20 },
	{ per: "privateAddresses", burst: 500, perSecond: 200 },
] as const satisfies readonly RateRule[];

/** Adds the health checks to an app. Without `admission`, requests above the rate limit are not delayed. */
export function mountHealth(
	app: Hono<AppEnv>,
	deps: AppDeps,
	admission?: Pick<Admission, "delayRefusal">,
): void {
	const health = createHealth(deps);
	const rates = createRateLimiter(READY_RATES);
	app.get("/healthz", () => health.answerAlive());
	app.get("/readyz", async (c) => {
		const origin = { addressBlock: callerBlock(c, deps), programme: null };
		if (!rates.take(origin, deps.clock.monotonicMs())) await admission?.delayRefusal();
		return health.answerReady();
	});
	refuseOtherMethods(app, deps, ["/healthz", "/readyz"]);
}

/**
 * Answers 405 to all methods that have no handler at the given paths. Must be called after the handlers of
 * these paths are registered.
 */
export function refuseOtherMethods(app: Hono<AppEnv>, deps: AppDeps, paths: readonly string[]): void {
	for (const path of paths) {
		app.all(path, (c) => {
			const found = faultOf("method_not_allowed", { method: c.req.method, allow: "GET" });
			return problemAnswer(deps, found, { allow: "GET, HEAD" });
		});
	}
}

/** Creates the app of a worker process. It answers health checks and nothing else. */
export function createWorkerApp(deps: AppDeps): Hono<AppEnv> {
	const app = createBareApp(deps, null);
	mountHealth(app, deps);
	return app;
}

/**
 * Creates the app for metrics and detailed health. It listens on a separate address, because metrics reveal
 * how much is sold, and the details would help an attacker.
 */
export function createMetricsApp(deps: AppDeps, about: ProcessDetails): Hono<AppEnv> {
	const app = createBareApp(deps, null);
	const health = createHealth(deps);
	app.get("/metrics", () => deps.metrics.answer());
	app.get("/health", () => health.answerDetails(about));
	refuseOtherMethods(app, deps, ["/metrics", "/health"]);
	return app;
}
