//! Connections, counted when they are opened.

use crate::stats;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// Wraps a connector.
#[derive(Clone)]
pub(crate) struct Counted;

/// A connector that counts connections.
#[derive(Clone)]
pub(crate) struct Connector<S>(S);

impl<S> Layer<S> for Counted {
    type Service = Connector<S>;

    fn layer(&self, inner: S) -> Connector<S> {
        Connector(inner)
    }
}

impl<T, S: Service<T>> Service<T> for Connector<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, to: T) -> S::Future {
        stats::CONNECTIONS.add(1);
        self.0.call(to)
    }
}
