// Looks at this process's load while requests are in flight, and lets the pace follow it.

import type { Clock, Load } from "../ports.ts";
import { Alarm } from "./alarm.ts";
import { Pace } from "./pace.ts";

export interface UnderWay {
	readonly startedAtMs: number;
	/** What `lateMs` of the load was when it began. */
	readonly lateBeforeMs: number;
}

export interface PaceWatch {
	hasRoom(): boolean;
	/** Something is ready to go out and finds no room. */
	noteWait(): void;
	begin(startedAtMs: number): UnderWay;
	/** `answeredInMs` is null where there was no answer. */
	end(underWay: UnderWay, answeredInMs: number | null): void;
	/** For how long the event loop was late since it began. */
	lateSinceMs(underWay: UnderWay): number;
	stop(): void;
}

/** How often it is looked at while requests are in flight. Longer than 64 handshakes take: during them the
 * process idles and would open ever more. From 64 to 512 takes three looks. */
const LOOK_MS = 250;

/** `onLook` is called after each look: there may be room now. */
export function watchPace(
	{ clock, load, mostInFlight }: { clock: Clock; load: Load; mostInFlight: number },
	onLook: () => void,
): PaceWatch {
	const pace = new Pace(mostInFlight);
	const inFlight = new Set<UnderWay>();
	let isStopped = false;
	let lateBeforeMs = 0;
	let quickestMs: number | null = null;
	let hasWaited = false;
	const alarm = new Alarm(clock, () => {
		pace.adjust(takeReading());
		if (inFlight.size > 0 && !isStopped) alarm.ringWithin(LOOK_MS);
		onLook();
	});

	function takeReading() {
		const lateMs = load.lateMs();
		const reading = { busyShare: load.busyShare(), lateMs: lateMs - lateBeforeMs, quickestMs, hasWaited };
		lateBeforeMs = lateMs;
		quickestMs = null;
		hasWaited = false;
		return reading;
	}

	return {
		hasRoom: () => pace.hasRoom(inFlight, clock.nowMs()),
		noteWait() {
			hasWaited = true;
		},
		begin(startedAtMs) {
			if (!alarm.isSet && !isStopped) {
				// Only time from now on counts.
				takeReading();
				alarm.ringWithin(LOOK_MS);
			}
			const underWay = { startedAtMs, lateBeforeMs: load.lateMs() };
			inFlight.add(underWay);
			return underWay;
		},
		end(underWay, answeredInMs) {
			inFlight.delete(underWay);
			if (answeredInMs !== null) quickestMs = Math.min(quickestMs ?? answeredInMs, answeredInMs);
		},
		lateSinceMs: ({ lateBeforeMs }) => load.lateMs() - lateBeforeMs,
		stop() {
			isStopped = true;
			alarm.cancel();
		},
	};
}
