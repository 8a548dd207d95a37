//! The life of the daemon: start, run until shutdown or a crash, stop in order.
//!
//! Shutdown order: stop receiving, finish items within the grace period, return the rest, stop HTTP, publish the
//! outbox, write usage, close the store.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::observers::QueueObserver;
use super::opening::folder_in_use;
use super::rejudging::Rejudger;
use super::shedding::FleetAllowance;
use super::webhooks::{Webhook, receivers};
use super::{App, AppError, jobs, reembed, work};
use crate::config::{Config, Overload};
use crate::domain::SystemClock;
use crate::http::{self, HttpSettings, HttpState, InProcess};
use crate::outbound::webhook::WebhookReceiver;
use crate::supervisor::Supervisor;
use crate::worker::{
    self, IntakeStatus, OverloadLimits, OverloadPolicy, OwnAllowance, RetryPolicy, WorkerParts, WorkerSettings,
};

/// Length of the accept queue, as in the standard library.
const BACKLOG: u32 = 1024;

/// Daily, because evidence is kept for days.
const CLEANUP_INTERVAL: Duration = Duration::from_hours(24);

/// Time of a request in addition to the time of its check, so that the check always ends first and is answered.
const ANSWER_MARGIN: Duration = Duration::from_secs(30);

/// Limit for background work after the worker. HTTP finishes first, then the outbox is published. A transaction on a
/// lost connection never ends; the next start writes its data again.
const ENDING: Duration = Duration::from_secs(35);

#[derive(Debug, Clone, Copy)]
pub struct ServeOptions {
    pub worker: bool,
    /// If false, only `/healthz`, `/readyz` and `/metrics` are served.
    pub http: bool,
}

/// A bound address that does not listen yet, so connections are refused.
#[derive(Debug)]
pub struct HttpAddress {
    socket: TcpSocket,
    wanted: SocketAddr,
}

impl HttpAddress {
    /// Binds the address before the store is opened, so that a port in use is reported at once. If the other daemon
    /// also holds the data folder, the error names that daemon.
    pub fn reserve(config: &Config) -> Result<Self, AppError> {
        let wanted = config.http.bind;
        let reserve = || {
            let socket = if wanted.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            // A restart need not wait for old connections. A port with a listener is still refused.
            #[cfg(unix)]
            socket.set_reuseaddr(true)?;
            socket.bind(wanted)?;
            Ok(Self { socket, wanted })
        };
        reserve().map_err(|source| folder_in_use(config).unwrap_or(AppError::Bind { address: wanted, source }))
    }

    fn listen(self) -> Result<(TcpListener, SocketAddr), AppError> {
        let failed = |source| AppError::Bind { address: self.wanted, source };
        let listener = self.socket.listen(BACKLOG).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok((listener, address))
    }
}

impl App {
    /// Runs the daemon until `shutdown`. Calls `on_ready` with the listening address.
    pub async fn serve(
        mut self,
        options: ServeOptions,
        reserved: HttpAddress,
        shutdown: CancellationToken,
        on_ready: impl FnOnce(SocketAddr),
    ) -> Result<(), AppError> {
        let started = receivers(&self.config.webhooks, &self.config.fetch.user_agent)
            .and_then(|receivers| Ok((self.listen(options, reserved)?, receivers)));
        let ((listener, address), receivers) = match started {
            Ok(started) => started,
            Err(error) => {
                if let Err(closing) = self.close().await {
                    tracing::warn!(error = %closing, "store did not close cleanly");
                }
                return Err(error);
            }
        };
        // Ends after the worker, because its last results must be published and served.
        let later = CancellationToken::new();
        // Relays end last, so that they publish the result of a check over HTTP.
        let (served, last) = (CancellationToken::new(), CancellationToken::new());
        let background = self.supervisor.group();
        self.start_relays(receivers, &background, &last);
        self.start_jobs(options, &background, &later);
        let intake = IntakeStatus::default();
        let router = http::router(self.http_state(address, options, shutdown.clone(), &intake), !options.http);
        background.spawn("the HTTP server", &later, {
            let (stop, served) = (later.clone(), served.clone().drop_guard());
            let per_client = self.config.http.connections_per_client;
            async move {
                let done = http::serve(listener, router, per_client, stop).await.map_err(|error| error.to_string());
                drop(served);
                done
            }
        });
        background.spawn("the relay shutdown", &later, {
            let later = later.clone();
            async move {
                later.cancelled().await;
                served.cancelled().await;
                last.cancel();
            }
        });
        on_ready(address);
        let ended = self.run_until(options, &shutdown, &intake).await;
        later.cancel();
        let cut_off = background.drain(ENDING).await;
        if cut_off > 0 {
            tracing::warn!(tasks = cut_off, "background jobs did not stop in time and were aborted");
        }
        let closed = self.close().await;
        ended.and(closed)
    }

    fn listen(&mut self, options: ServeOptions, reserved: HttpAddress) -> Result<(TcpListener, SocketAddr), AppError> {
        let (listener, address) = reserved.listen()?;
        // Commands use the API of this daemon. Without it they report that the folder is in use.
        if options.http {
            self.opened.announce(&address.to_string())?;
        }
        Ok((listener, address))
    }

    /// Runs the worker until `shutdown`. If a supervised task fails, drains the worker and returns the failure.
    async fn run_until(
        &self,
        options: ServeOptions,
        shutdown: &CancellationToken,
        intake: &IntakeStatus,
    ) -> Result<(), AppError> {
        let stop_worker = shutdown.child_token();
        let worker = async {
            if options.worker {
                let tracker = TaskTracker::new();
                let parts = self.worker_parts(intake.clone());
                let done = worker::run(self.worker_settings(), parts, stop_worker.clone(), tracker).await;
                done.map_err(|error| AppError::Crashed { task: "the worker", detail: error.to_string() })
            } else {
                stop_worker.cancelled().await;
                Ok(())
            }
        };
        tokio::pin!(worker);
        // The worker is not dropped; it drains below.
        tokio::select! {
            done = &mut worker => match self.supervisor.failure() {
                // A failed task, such as the broker connection, can stop the worker.
                Some(failure) if done.is_err() => Err(failure.into()),
                _ => done,
            },
            failure = self.supervisor.failed() => {
                stop_worker.cancel();
                if let Err(error) = worker.await {
                    tracing::error!(error = %error, "worker drain failed");
                }
                Err(failure.into())
            }
        }
    }

    fn worker_settings(&self) -> WorkerSettings {
        let enrichment = &self.config.enrichment;
        WorkerSettings {
            concurrency: self.config.worker.concurrency,
            grace: self.config.worker.grace,
            // An item limits its own time; ten times that is a hang.
            item_limit: enrichment.max_time * 10,
            retry: RetryPolicy {
                max_attempts: u32::try_from(self.config.queue.retry_delays.len() + 1).unwrap_or(u32::MAX),
                delays: self.config.queue.retry_delays.clone(),
                ..RetryPolicy::default()
            },
            overload: OverloadLimits {
                max_lag: enrichment.max_lag,
                max_queue_length: enrichment.max_queue_length,
                policy: match enrichment.overload {
                    Overload::Degrade => OverloadPolicy::Degrade,
                    Overload::Defer => OverloadPolicy::Defer,
                    Overload::Drop => OverloadPolicy::Drop,
                },
            },
            ..WorkerSettings::default()
        }
    }

    fn worker_parts(&self, status: IntakeStatus) -> WorkerParts {
        WorkerParts {
            queue: Arc::clone(&self.queue),
            process: work::process(Arc::clone(&self.services)),
            announce: work::announce(&self.services, Arc::clone(&self.queue)),
            probe: work::probe(self.store.clone()),
            allowance: if self.store.is_embedded() {
                // One process owns the folder.
                Arc::new(OwnAllowance::default())
            } else {
                Arc::new(FleetAllowance(self.store.clone()))
            },
            clock: Arc::clone(&self.services.clock),
            observer: Arc::new(QueueObserver),
            status,
        }
    }

    fn start_relays(&self, receivers: Vec<(String, WebhookReceiver)>, tasks: &Supervisor, stop: &CancellationToken) {
        let jobs = &self.config.jobs;
        let (store, services) = (&self.store, &self.services);
        if services.settings.results_exchange.is_some() {
            let relay = jobs::relay_outbox(
                store.clone(),
                Arc::clone(&self.queue),
                i64::from(jobs.outbox_batch),
                jobs.outbox_interval,
                stop.clone(),
            );
            tasks.spawn("the outbox relay", stop, relay);
        }
        for receiver in receivers {
            let clock = Arc::clone(&services.clock);
            let webhook = Webhook::new(receiver, &self.config.webhooks, store.clone(), clock);
            tasks.spawn("the webhook sender", stop, webhook.run(jobs.outbox_interval, stop.clone()));
        }
    }

    fn start_jobs(&self, options: ServeOptions, tasks: &Supervisor, stop: &CancellationToken) {
        let jobs = &self.config.jobs;
        let (store, services) = (&self.store, &self.services);
        tasks.spawn("the notification listener", stop, jobs::listen(store.clone(), stop.clone()));
        tasks.spawn(
            "the domain list follower",
            stop,
            jobs::follow_rules(
                store.clone(),
                Arc::clone(&services.rules),
                self.config.enrichment.allowlist_only,
                jobs.domains_interval,
                stop.clone(),
            ),
        );
        tasks.spawn(
            "the fleet follower",
            stop,
            jobs::follow_fleet(store.clone(), self.followers.clone(), stop.clone()),
        );
        tasks.spawn("the metrics upkeep", stop, crate::telemetry::exporter::install().keep_up(stop.clone()));
        let clock = &services.clock;
        tasks.spawn(
            "the clean-up",
            stop,
            jobs::clean_up(store.clone(), Arc::new(SystemClock), CLEANUP_INTERVAL, stop.clone()),
        );
        tasks.spawn("the answer clean-up", stop, jobs::tidy_answers(store.clone(), stop.clone()));
        let embedder = Arc::clone(&services.models.embedder);
        let job = reembed::reembed(store.clone(), embedder, stop.clone());
        tasks.spawn("re-embedding", stop, job);
        // Also for a process that re-evaluates nothing: others find its results by this.
        services
            .judged_with
            .get_or_init(|| super::rejudging::judged_with(services, self.config.enrichment.allowlist_only));
        if self.config.rejudge.enabled && options.worker {
            let job = Rejudger::new(services, &self.queue, &self.config).run(stop.clone());
            tasks.spawn("the re-evaluation", stop, job);
        }
        for provider in services.providers.configured() {
            if let Some(interval) = provider.upkeep() {
                let job = jobs::keep_up(Arc::clone(provider), interval, stop.clone());
                tasks.spawn("the provider upkeep", stop, job);
            }
        }
        tasks.spawn(
            "the accounting",
            stop,
            jobs::account(
                store.clone(),
                Arc::clone(&self.usage),
                Arc::clone(&self.queue),
                jobs::SpendLimits {
                    daily_budget: self.config.enrichment.daily_budget_usd,
                    monthly_cap: self.config.enrichment.monthly_cap_usd,
                },
                Arc::clone(clock),
                stop.clone(),
            ),
        );
    }

    /// The API without a port, for a command.
    pub fn api(&self) -> InProcess {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let options = ServeOptions { worker: false, http: true };
        InProcess::new(self.http_state(address, options, CancellationToken::new(), &IntakeStatus::default()))
    }

    fn http_state(
        &self,
        address: SocketAddr,
        options: ServeOptions,
        stopping: CancellationToken,
        intake: &IntakeStatus,
    ) -> HttpState {
        let http = &self.config.http;
        let intake = intake.clone();
        HttpState {
            services: Arc::clone(&self.services),
            queue: Arc::clone(&self.queue),
            stopping,
            supervisor: self.supervisor.clone(),
            settings: Arc::new(HttpSettings {
                admin_token: http.admin_token.clone(),
                read_token: http.read_token.clone(),
                open_reading: http.open_reading,
                loopback: address.ip().is_loopback(),
                allowed_origins: http.cors_origins.iter().map(http::origin_of).collect(),
                allowed_hosts: http.allowed_hosts.clone(),
                max_body_bytes: http.max_body,
                requests_per_minute: http.requests_per_minute.get(),
                request_timeout: self.config.enrichment.max_time + ANSWER_MARGIN,
                embedded: self.store.is_embedded(),
                version: env!("CARGO_PKG_VERSION"),
                monthly_cap_usd: Some(self.config.enrichment.monthly_cap_usd),
                worker: options.worker,
                in_process: false,
            }),
            intake_paused: Arc::new(move || intake.paused()),
            render_metrics: Arc::new(|| crate::telemetry::exporter::install().render()),
        }
    }
}
