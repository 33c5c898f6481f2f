// What the service says of itself at /metrics, read once a second while it is under load.

import type { LiveHeap } from "./live-heap.ts";

export interface Sample {
	atMs: number;
	residentBytes: number;
	/** Not measured every time: a collection is work, too. */
	liveBytes: number | null;
	delivered: number;
	/** In the hands of the process: what it holds in memory of its queue. */
	inHand: number;
}

export interface Watch {
	readonly samples: readonly Sample[];
	read(): Promise<Sample>;
	/** Rejects as soon as a reading fails; never resolves before `stop`. */
	done: Promise<void>;
	stop(): Promise<void>;
}

/** Often enough to see it in a short run, without being the load itself. */
const SAMPLES = 30;
const MAX_INTERVAL_MS = 1_000;

export interface WatchOptions {
	metricsUrl: string;
	liveHeap: LiveHeap;
	/** How long the load goes on: the live heap is measured so many times in it, the rest at least as often. */
	loadMs: number;
	onSample(sample: Sample): void;
}

export function watchMetrics({ metricsUrl, liveHeap, loadMs, onSample }: WatchOptions): Watch {
	const samples: Sample[] = [];
	let isStopping = false;
	let wake = (): void => undefined;
	const startedMs = performance.now();
	const liveIntervalMs = loadMs / SAMPLES;
	const intervalMs = Math.min(MAX_INTERVAL_MS, liveIntervalMs);
	let liveAtMs = startedMs;

	async function read(): Promise<Sample> {
		const response = await fetch(metricsUrl);
		const text = await response.text();
		if (!response.ok) throw new Error(`${metricsUrl} answered ${response.status}: ${text}`);
		return {
			atMs: performance.now() - startedMs,
			residentBytes: readValue(text, "process_resident_memory_bytes"),
			liveBytes: null,
			delivered: readValue(text, 'ringback_deliveries_finished_total{state="delivered"}'),
			inHand: readValue(text, "ringback_in_hand"),
		};
	}

	async function watch(): Promise<void> {
		while (!isStopping) {
			const sample = await read();
			if (performance.now() - liveAtMs >= liveIntervalMs) {
				liveAtMs = performance.now();
				sample.liveBytes = await liveHeap.measureBytes();
			}
			samples.push(sample);
			onSample(sample);
			await new Promise<void>((resolve) => {
				const timer = setTimeout(resolve, intervalMs);
				wake = () => {
					clearTimeout(timer);
					resolve();
				};
			});
		}
	}

	const done = watch();
	// Whoever holds it hears of a failure; until somebody does, it must not end the process.
	done.catch(() => undefined);
	return {
		samples,
		read,
		done,
		async stop() {
			isStopping = true;
			wake();
			await done;
		},
	};
}

function readValue(text: string, name: string): number {
	const line = text.split("\n").find((one) => one.startsWith(`${name} `));
	const value = Number(line?.slice(name.length + 1));
	if (line === undefined || Number.isNaN(value)) throw new Error(`/metrics does not say ${name}`);
	return value;
}
